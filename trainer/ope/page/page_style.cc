#include "trainer/ope/page/page_style.h"

namespace sortition {

// The page is light whatever the reader's system prefers: the charts are.
absl::string_view PageStyle() {
  return R"css(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1.25rem 3rem; max-width: 75rem; background: #ffffff;
  color: #222222; font: 1rem/1.5 Helvetica, Arial, 'DejaVu Sans', sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0 1rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.5rem 0 0.75rem; padding-top: 0.75rem;
  border-top: 1px solid #cccccc; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 0.5rem; }
p, ul { margin: 0.5rem 0; max-width: 48rem; }
ul { padding-left: 1.25rem; }
a { color: #00527f; }
nav { margin: 1rem 0; }
nav a { display: inline-block; margin-right: 1rem; padding: 0.25rem 0; }
.verdict { margin: 0; padding: 0.9rem 1.1rem; max-width: none; font-size: 1.2rem;
  line-height: 1.4; border-left: 6px solid #0072b2; background: #eef5fa; }
.key { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr));
  gap: 0.75rem 1.5rem; margin: 1.25rem 0; }
.key dt { font-size: 0.85rem; color: #555555; }
.key dd { margin: 0; font-weight: bold; overflow-wrap: break-word; }
.finding { margin: 0.6rem 0; padding: 0.5rem 0.9rem; border-left: 6px solid #8c6d1f;
  background: #fbf6ea; }
.finding strong { display: block; }
.unsupported { border-color: #d55e00; background: #fdf1e8; }
.contradiction { border-color: #b2182b; background: #fbeaec; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr));
  gap: 1rem 1.5rem; align-items: start; }
figure { margin: 0.75rem 0; min-width: 0; }
figure svg { display: block; width: 100%; max-width: 34rem; height: auto; }
figcaption { font-size: 0.9rem; color: #444444; max-width: 34rem; }
details { margin: 0.75rem 0; }
summary { cursor: pointer; color: #00527f; padding: 0.25rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.5rem 0; font-size: 0.9rem; }
caption { text-align: left; font-weight: bold; padding: 0.25rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0;
  border-bottom: 1px solid #dddddd; overflow-wrap: normal; }
th { border-bottom: 1px solid #888888; }
td { min-width: 8rem; }
td:last-child { min-width: 12rem; }
td bdi { overflow-wrap: anywhere; }
td.number { min-width: 0; }
.whole { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
code { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 0.9em; }
@page { size: A4; margin: 15mm; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .figures { display: block; }
  figure, .finding, .key, tr { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  figure svg { width: 120mm; }
  .wide { overflow: visible; }
  th, td { padding-right: 0.6rem; }
  table { font-size: 8pt; }
  td, td:last-child { min-width: 0; }
  summary { display: none; }
  details::details-content { content-visibility: visible; display: block; }
  a { color: inherit; text-decoration: none; }
  * { print-color-adjust: exact; }
}
)css";
}

}  // namespace sortition
