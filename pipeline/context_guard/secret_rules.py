"""What a secret looks like, as data: tokens that name their issuer, and places where a secret stands by its neighbours.

Written from the formats that issuers document. Every pattern is bounded or starts with a literal, so that no text makes
it slow; `hints` are looked for first, and a rule without a hint in the text is not tried at all.
"""

import re

from msgspec import Struct


class SecretRule(Struct, frozen=True):
    name: str
    hints: tuple[str, ...]
    """Lower case; one of them is in every text that the pattern matches."""
    pattern: re.Pattern[str]
    """What its group `secret` matched, or `value` in its place, is the secret; without such a group, all of it is."""


def _rule(name: str, hints: str, pattern: str) -> SecretRule:
    return SecretRule(name, tuple(hints.split()), re.compile(pattern))


_START = r"(?<![A-Za-z0-9_-])"
_NAMED = (
    r"(?i:api[_-]?key|apikey|secret|passw(?:or)?d|passwd|pwd|passphrase|token|credentials?|private[_-]?key"
    r"|access[_-]?key|account[_-]?key|auth[_-]?key|signing[_-]?key|encryption[_-]?key|connection[_-]?string"
    r"|(?<=[_-])pass(?![a-z])|(?<![a-z0-9_.-])pass(?==)"
    r"|passwort|kennwort|mot[ _-]?de[ _-]?passe|(?<![a-z])mdp(?![a-z])|contrase(?:ñ|n)a"
    r"|clave[ _-]?(?:secreta|privada|api)"
    r"|senha|wachtwoord|parolă)"
)
"""In English, then as other languages of settings files say `password`."""
_WORD = r"[\"']?(?P<secret>[^\s\"'-][^\s\"']{1,200})"
"""The value of an option, in quotes or without."""
_REST_OF_NAME = r"[A-Za-z0-9_.-]{0,40}"

PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"[\s\S]*?(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)

TOKENS = (
    _rule("aws-access-key", "akia asia abia acca", r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        _START + r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_-]{20,255}",
    ),
    _rule("slack-token", "xox xapp-", r"(?:xox[abceoprs]|xapp)-[A-Za-z0-9-]{10,255}"),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{20,})",
    ),
    _rule("discord-webhook", "api/webhooks/", r"api/webhooks/[0-9]{15,25}/(?P<secret>[A-Za-z0-9_-]{40,})"),
    _rule("stripe-key", "sk_ rk_ whsec_", _START + r"(?:[sr]k_(?:live|test|prod)|whsec)_[A-Za-z0-9+/=]{10,255}"),
    _rule("sk-key", "sk-", _START + r"sk-[A-Za-z0-9_-]{20,255}"),
    _rule("google-key", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    _rule("google-oauth", "ya29. gocspx-", r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}"),
    _rule("npm-token", "npm_", _START + r"npm_[A-Za-z0-9]{30,}"),
    _rule("pypi-token", "pypi-ag", r"pypi-Ag[A-Za-z0-9_-]{50,}"),
    _rule("huggingface-token", "hf_", _START + r"hf_[A-Za-z0-9]{30,}"),
    _rule("groq-key", "gsk_", _START + r"gsk_[A-Za-z0-9]{30,}"),
    _rule("xai-key", "xai-", _START + r"xai-[A-Za-z0-9]{40,}"),
    _rule("replicate-token", "r8_", _START + r"r8_[A-Za-z0-9]{30,}"),
    _rule("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _rule("sendgrid-key", "sg.", _START + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _rule(
        "twilio-key",
        "sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske skf",
        r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])",
    ),
    _rule("telegram-token", ":aa", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    _rule("databricks-token", "dapi", r"dapi[0-9a-f]{32}"),
    _rule("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    _rule("atlassian-token", "atatt3", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    _rule("linear-key", "lin_", _START + r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    _rule("notion-token", "ntn_", _START + r"ntn_[A-Za-z0-9]{40,}"),
    _rule("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _rule("age-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _rule("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)

PLACES = (
    _rule("password", "://", r"://[^\s/:@'\"<>]{0,120}:(?P<secret>[^\s/@'\"<>]{1,200})@"),
    _rule(
        "url-secret",
        "?",
        r"[?&;](?i:access_token|refresh_token|id_token|api_?key|key|token|sig|signature|x-amz-signature|password|secret|code)"
        r"=(?P<secret>[^&\s#'\"<>]{6,2000})",
    ),
    _rule(
        "authorization",
        "authorization",
        r"(?i:authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[A-Za-z]{3,12} )?(?P<secret>[^\s\"',;{}]{8,2000})",
    ),
    _rule("bearer", "bearer ", r"(?i:bearer) (?P<secret>[A-Za-z0-9._~+/=-]{16,2000})"),
    _rule("cookie", "cookie", r"(?i:cookie)[\"']?: ?[\"']?(?P<secret>[^\s=;]{1,100}=[^\n\"']{8,4000})"),
    _rule(
        "password", "curl", r"curl [^\n]{0,400}?(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<secret>[^\s\"']{1,200})"
    ),
    _rule("password", "sshpass pgpassword", r"(?:sshpass -p ?|PGPASSWORD=)[\"']?(?P<secret>[^\s\"']{1,200})"),
    _rule(
        "password",
        "--",
        r"(?<![^\s\"'\[,=])--(?:[a-z0-9]{1,20}[-_]){0,3}(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key)"
        r"(?:=|[\"']?,? {1,4})[\"']?(?P<secret>(?![A-Z_]+(?![^\s\]\"',])|-)[^\s\"'\])]{3,2000})",
    ),
    _rule(
        "password",
        "mysql mariadb",
        r"\b(?:mysql|mariadb)[a-z_-]{0,20} [^\n|;&]{0,300}?(?<= )-p(?! )" + _WORD,
    ),
    _rule(
        "password",
        " login",
        r"\b(?:docker|podman|helm|az|oc|cf|skopeo|buildah) (?:[a-z]{1,20} )?login [^\n]{0,300}?(?<= )-p[ =]?" + _WORD,
    ),
    _rule(
        "password",
        "redis-cli ldap",
        r"\b(?:redis-cli|ldap[a-z]{3,10}) [^\n|;&]{0,300}?(?<= )-[aw] ?" + _WORD,
    ),
    _rule("password", "pass:", r"-pass(?:in|out)? {1,4}[\"']?pass:(?P<secret>[^\s\"']{1,200})"),
    _rule(
        "password",
        "machine",
        r"(?:^|[\s:])(?:machine\s{1,20}\S{1,200})\s{1,20}(?:(?:login|account)\s{1,20}\S{1,200}\s{1,20}){0,2}"
        r"password\s{1,20}(?P<secret>\S{1,200})",
    ),
    _rule("auth", "_auth", r"(?:^|[:\n])_auth ?= ?[\"']?(?P<secret>[A-Za-z0-9+/]{8,2000}={0,2})(?=[\"']?\s|[\"']?$)"),
    _rule("auth", '"auth"', r"\"auth\" ?: ?\"(?P<secret>[A-Za-z0-9+/]{12,2000}={0,2})\""),
    _rule(
        "secret",
        "</",
        rf"<(?:[A-Za-z0-9_.:-]{{0,60}}?){_NAMED}[A-Za-z0-9_.-]{{0,40}}(?:\s[^<>]{{0,300}})?>"
        r"\s{0,20}(?P<secret>[^<>\s][^<>\n]{2,2000}?)\s{0,20}</",
    ),
    _rule(
        "secret",
        "name= key= id=",
        rf"(?<=[\s<])(?:name|key|id)=[\"'][^\"'<>\n]{{0,80}}?{_NAMED}[^\"'<>\n]{{0,40}}[\"'][^<>\n]{{0,200}}?"
        r"(?:\svalue=[\"'](?P<value>[^\"'<>\n]{3,2000})[\"']"
        r"|(?<!/)>\s{0,20}(?P<secret>[^<>\s][^<>\n]{2,2000}?)\s{0,20}</)",
    ),
    _rule(
        "secret",
        "<key>",
        rf"<key>[^<>\n]{{0,80}}?{_NAMED}[^<>\n]{{0,40}}</key>\s{{0,40}}<string>(?P<secret>[^<>\n]{{3,2000}})</string>",
    ),
)

NAMED = re.compile(
    rf"{_NAMED}{_REST_OF_NAME}(?P<close>[\"']?)[ \t]{{0,8}}(?P<sign>=>|:=|===?|=|:)[ \t]{{0,8}}"
    r"(?:[bfru]?\"(?P<double>[^\"\n]{1,2000})\"|[bfru]?'(?P<single>[^'\n]{1,2000})'|(?P<bare>[^\s&\"'`,;(){}\[\]<>]{4,2000}))"
)
"""A value under a name that says it is secret: `DB_PASSWORD=…`, `"apiKey": "…"`, `secret: …`."""
NAMED_HINTS = (
    "key", "secret", "passw", "pwd", "passphrase", "token", "credential", "connection", "_pass", "-pass", "pass=",
    "kennwort", "passe", "mdp", "contrase", "clave", "senha", "wachtwoord", "parolă",
)  # fmt: skip

ENV_LINE = re.compile(
    r"(?m)^(?P<head>[^\n=]{0,200}?\b[A-Za-z_][A-Za-z0-9_]{0,100}[ \t]{0,4}=[ \t]{0,4})(?P<secret>\S[^\n]*)$"
)
"""Every value of a settings file that is made for secrets."""
ENV_FILE = re.compile(r"(?:^|[\s/\\\"'`=])\.env(?:\.[A-Za-z0-9_-]+)?(?![A-Za-z0-9_.-])|\b[\w-]+\.env(?![A-Za-z0-9_.-])")

PLACEHOLDER = re.compile(
    r"(?i:\$|%|<|\{|\*{3}|x{4}|\.\.\.|…|\[redacted|none$|null$|true$|false$|str(?:ing)?\b|bytes\b|int\b|optional\b"
    r"|(?:is|and|or|to|for|the|in|with|must|options?|flags?|arguments?|if|when|should|will|can|as|from|not|values?|files?)$"
    r"|os\.|env\.|process\.env|self\.|settings\.|config\.|args\.|example$|changeme$|your[_-])"
)
"""How a value begins that is no secret but stands for one, or is code."""

DATA_URL = re.compile(
    r"data:(?P<type>[A-Za-z0-9.+/-]{0,100})(?:;[A-Za-z0-9=_.+-]{1,80}){0,6};base64,(?P<data>[A-Za-z0-9+/=_%-]*)"
)
BLOB = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{200,}={0,2}(?![A-Za-z0-9+/=_-])")
BLOB_LINES = re.compile(
    r"(?m)^[ \t]{0,8}[A-Za-z0-9+/]{40,100}\n(?:[ \t]{0,8}[A-Za-z0-9+/]{40,100}\n){2,}"
    r"(?:[ \t]{0,8}[A-Za-z0-9+/]{1,100}={0,2}$)?"
)
