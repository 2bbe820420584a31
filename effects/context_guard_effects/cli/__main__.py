from context_guard_effects.cli import main

main()
