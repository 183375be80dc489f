#include "trainer/ope/page/html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/drawing/xml_text.h"

namespace sortition {

std::string Element(absl::string_view tag, absl::string_view html,
                    absl::string_view attributes) {
  return absl::StrCat("<", tag, attributes.empty() ? "" : " ", attributes, ">",
                      html, "</", tag, ">");
}

std::string Paragraph(absl::string_view text) {
  return text.empty() ? "" : Element("p", EscapeXml(text)) + "\n";
}

std::string Name(absl::string_view text) {
  return Element("bdi", EscapeXml(text));
}

std::string Section(absl::string_view id, absl::string_view heading,
                    absl::string_view html) {
  if (html.empty()) return "";
  return absl::StrFormat("<section id=\"%s\">\n<h2>%s</h2>\n%s</section>\n",
                         EscapeXml(id), EscapeXml(heading), html);
}

std::string Folded(absl::string_view summary, absl::string_view html) {
  if (html.empty()) return "";
  return absl::StrFormat("<details><summary>%s</summary>\n%s</details>\n",
                         EscapeXml(summary), html);
}

std::string List(const std::vector<std::string>& html_items) {
  if (html_items.empty()) return "";
  std::string items;
  for (const std::string& item : html_items) {
    absl::StrAppend(&items, Element("li", item), "\n");
  }
  return Element("ul", items) + "\n";
}

std::string Table(const HtmlTable& table) {
  if (table.html_rows.empty()) return "";
  const std::string caption = EscapeXml(table.caption);
  std::string head;
  for (const HtmlTable::Column& column : table.columns) {
    absl::StrAppend(&head,
                    Element("th", EscapeXml(column.name),
                            column.number ? "scope=\"col\" class=\"number\""
                                          : "scope=\"col\""));
  }
  std::string body;
  for (const std::vector<std::string>& row : table.html_rows) {
    std::string cells;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(
          &cells, Element("td", row[i],
                          table.columns[i].number ? "class=\"number\"" : ""));
    }
    absl::StrAppend(&body, Element("tr", cells), "\n");
  }
  // A wide table is scrolled on its own, with the keyboard too.
  return absl::StrFormat(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"%s\">\n<table><caption>%s</caption>\n"
      "<thead><tr>%s</tr></thead>\n<tbody>\n%s</tbody></table></div>\n",
      caption, caption, head, body);
}

}  // namespace sortition
