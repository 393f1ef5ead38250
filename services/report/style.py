"""How the page looks, and the button between light and dark. Nothing is fetched from anywhere."""

from __future__ import annotations

from services.report.palette import INKS


def _variables(theme: str) -> str:
    return "".join(f"--{name}:{getattr(ink, theme)};" for name, ink in INKS.items())


LIGHT, DARK = _variables("light"), _variables("dark")

STYLE = (
    f"""
:root{{{LIGHT}color-scheme:light}}
@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{DARK}color-scheme:dark}}}}
@media screen{{:root[data-theme=dark]{{{DARK}color-scheme:dark}}}}
"""
    + """
:root{--serif:"Iowan Old Style","Palatino Linotype",Palatino,Charter,"Source Serif 4",Georgia,"Times New Roman",serif;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif;
--mono:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:400 1rem/1.55 var(--sans);
font-variant-numeric:tabular-nums lining-nums;overflow-wrap:break-word}
main,header,footer{max-width:75rem;margin:0 auto;padding:0 clamp(1rem,4vw,2.5rem)}
header{padding-top:1.4rem}
.bar{display:flex;justify-content:space-between;align-items:center;gap:1rem;font-size:.8125rem;color:var(--soft);
border-bottom:1px solid var(--rule);padding-bottom:.7rem;letter-spacing:.01em}
.bar b{color:var(--ink);font-weight:650;letter-spacing:.02em}
button{font:inherit;color:var(--ink);background:none;border:1px solid var(--rule);border-radius:99px;
padding:.3rem .85rem;cursor:pointer;white-space:nowrap}
button:hover{border-color:var(--soft)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
h1,h2,h3{font-family:var(--serif);font-weight:600;line-height:1.15;letter-spacing:-.012em;text-wrap:balance}
.kicker{margin:2.6rem 0 0;font-size:.8125rem;color:var(--soft)}
.kicker code{font-size:.95em}
h1{font-size:clamp(1.7rem,1.15rem + 2.3vw,2.65rem);margin:.55rem 0 0;max-width:30em}
h1.long{font-size:clamp(1.5rem,1.1rem + 1.7vw,2.15rem);line-height:1.22;max-width:34em}
.lead{font-family:var(--serif);font-size:1.2rem;line-height:1.5;color:var(--soft);margin:.9rem 0 0;max-width:40em}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:1.4rem 0;margin:2.3rem 0 0;padding:0}
.tiles div{padding:0 1.2rem;border-left:1px solid var(--rule)}
.tiles div:first-child{padding-left:0;border-left:0}
.tiles dt{font-size:.8125rem;color:var(--soft);line-height:1.35;min-height:2.7em;display:flex;align-items:flex-end}
.tiles dd{margin:0}
.tiles .value{font-family:var(--serif);font-size:2.1rem;line-height:1.25;font-weight:600;letter-spacing:-.02em}
.tiles .value small{font-size:1rem;font-weight:400;letter-spacing:0;color:var(--soft);
display:inline-block;line-height:1.3}
.tiles .foot{font-size:.8125rem;color:var(--soft);line-height:1.4}
section{border-top:1px solid var(--rule);margin-top:3.2rem;padding-top:1.5rem}
h2{font-size:1.55rem;margin:0}
h3{font-size:1.12rem;margin:2.2rem 0 0}
section>p{max-width:44em;margin:.5rem 0 0;color:var(--soft)}
section>p code{white-space:nowrap}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.5rem;margin:1rem 0 0;padding:0;font-size:.875rem}
.legend li{min-width:0}
.swatch{width:30px;height:10px;flex:none;margin-right:.55rem}
.panels{display:grid;gap:1.6rem 2rem;margin-top:1.2rem;
grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr))}
.panels.two{grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));max-width:60rem}
.panels.one{grid-template-columns:minmax(0,1fr)}
.series{display:flex;align-items:baseline;min-width:0}
.series span{min-width:0;overflow-wrap:anywhere}
figure{margin:0;min-width:0}
figure>svg{display:block;width:100%;height:auto;overflow:visible;font-family:var(--sans)}
figure>svg *{stroke-linejoin:round;stroke-linecap:butt}
figcaption{font-size:.8438rem;line-height:1.5;color:var(--soft);margin-top:.5rem;max-width:38em;overflow-wrap:anywhere}
.panels.one figure{display:grid;grid-template-columns:minmax(0,33rem) minmax(0,1fr);gap:1rem 2.4rem;align-items:center}
.panels.one figcaption{font-size:.95rem;margin:0;max-width:24em}
.scroll{overflow-x:auto;margin-top:1.3rem;max-width:100%}
table{border-collapse:collapse;font-size:.875rem;line-height:1.4;min-width:min(100%,52rem)}
caption{text-align:left;font-weight:600;padding:0 0 .5rem;caption-side:top}
caption span{position:sticky;left:0;display:inline-block;max-width:min(100%,calc(100vw - 2rem))}
th,td{text-align:left;padding:.36rem 1.1rem .36rem 0;vertical-align:baseline;font-weight:400;white-space:nowrap}
thead th{color:var(--soft);font-size:.8125rem;border-bottom:1px solid var(--soft);vertical-align:bottom}
tbody tr{border-bottom:1px solid var(--grid)}
tbody th{position:sticky;left:0;background:var(--paper);white-space:normal;min-width:11.5rem;
max-width:26rem;overflow-wrap:anywhere}
tbody tr:hover,tbody tr:hover th{background:var(--raised)}
.num{text-align:right;padding-left:.6rem}
th:last-child,td:last-child{padding-right:.2rem}
.best,.sure{font-weight:700}
.faint,.none{color:var(--soft)}
.none,abbr{cursor:help;text-decoration:none}
.tag{font-size:.75rem;color:var(--soft);border:1px solid var(--rule);border-radius:3px;padding:.05rem .35rem;
margin-left:.35rem;white-space:nowrap}
.tag.warn{color:var(--series-2);border-color:currentColor}
code{font-family:var(--mono);font-size:.92em;overflow-wrap:anywhere}
.note{font-size:.8438rem;color:var(--soft);margin:.6rem 0 0;max-width:50em}
details{border-top:1px solid var(--grid);margin-top:1rem;padding-top:.7rem}
details details{margin-left:1rem}
summary{cursor:pointer;font-weight:600}
.file>summary{font-family:var(--serif);font-size:1.12rem;overflow-wrap:anywhere}
dl.words{display:grid;grid-template-columns:minmax(7rem,11rem) minmax(0,1fr);gap:.35rem 1.2rem;font-size:.9063rem;
margin:.8rem 0 0;max-width:56rem}
dl.words dt{font-weight:600}
dl.words dd{margin:0;color:var(--soft)}
ul.notes{padding-left:1.1rem;max-width:48em;margin:.6rem 0 0}
ul.notes li{margin:.25rem 0;overflow-wrap:anywhere}
footer{padding-top:1.6rem;padding-bottom:3rem;font-size:.8125rem;color:var(--soft)}
@media (max-width:52rem){.panels.one figure{grid-template-columns:minmax(0,1fr)}.panels.one figcaption{max-width:38em;
font-size:.8438rem}}
@media (max-width:34rem){.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.tiles div{padding:0 0 0 .9rem}
.tiles div:nth-child(odd){padding-left:0;border-left:0}.tiles .value{font-size:1.6rem}
section{margin-top:2.4rem}dl.words{grid-template-columns:1fr;gap:0}dl.words dd{margin-bottom:.6rem}
.tag{white-space:normal;display:inline-block;margin:.15rem 0 0}}
@media print{body{font-size:10pt}button{display:none}main,header,footer{max-width:none;padding-left:0;padding-right:0}
figure,tr,.tiles,section>p{break-inside:avoid}
tbody th{position:static}
h2,h3,.legend,section>p{break-after:avoid}
.scroll{overflow:visible}th,td{white-space:normal}
section{margin-top:1.6rem}.tiles .value{font-size:1.6rem}
.panels.one figure{grid-template-columns:minmax(0,3fr) minmax(0,2fr)}
.panels:not(.one,.two){grid-template-columns:repeat(3,minmax(0,1fr));gap:1rem}}
@page{margin:14mm}
@media (prefers-reduced-motion:no-preference){button{transition:border-color .15s}}
"""
)

SCRIPT = """
(function(){var root=document.documentElement,button=document.getElementById("theme"),
dark=window.matchMedia("(prefers-color-scheme: dark)");
function now(){return root.dataset.theme||(dark.matches?"dark":"light")}
function name(){var other=now()==="dark"?"light":"dark";button.textContent=other==="dark"?"Dark":"Light";
button.setAttribute("aria-label","Switch to the "+other+" theme")}
button.hidden=false;name();
button.addEventListener("click",function(){root.dataset.theme=now()==="dark"?"light":"dark";name()});
dark.addEventListener("change",name)})();
"""
"""The button works by this alone; without it the page follows the system and lacks the button only."""
