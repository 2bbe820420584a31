// What RPC has no command for, as commands of an extension; and an extension that drafts beside the guard.
export default function (pi) {
  pi.registerCommand("nav", {
    description: "Go to an entry of the tree",
    async handler(args, ctx) {
      await ctx.navigateTree(args.trim(), { summarize: false });
    },
  });
  const foreign = process.env.OTHER_DRAFTS; // entries that another extension drafts at every boundary, as JSON
  if (foreign) {
    pi.on("agent_before_settle", (event) => ({ entries: [...event.entries, ...JSON.parse(foreign)] }));
  }
}
