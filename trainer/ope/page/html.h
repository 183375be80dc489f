#pragma once
// Parts of a page as text that is HTML and XML at once. What is called `html`
// is markup; all other text is escaped.
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sortition {

// Returns <tag attributes>html</tag>.
std::string Element(absl::string_view tag, absl::string_view html,
                    absl::string_view attributes = "");
// Returns <p>text</p>; empty for an empty text.
std::string Paragraph(absl::string_view text);
// Returns a name that users chose. The direction of its letters does not reach
// the text around it.
std::string Name(absl::string_view text);
// Returns <section> with a heading of level 2; empty if `html` is empty.
std::string Section(absl::string_view id, absl::string_view heading,
                    absl::string_view html);
// Returns what is folded behind `summary`; print shows it.
std::string Folded(absl::string_view summary, absl::string_view html);
std::string List(const std::vector<std::string>& html_items);

struct HtmlTable {
  struct Column {
    std::string name;
    bool number = true;  // Aligned on the right.
  };
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> html_rows = {};
};

// Empty if there are no rows.
std::string Table(const HtmlTable& table);

}  // namespace sortition
