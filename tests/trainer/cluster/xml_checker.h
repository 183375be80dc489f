#pragma once
// Whether a document is well-formed XML, as far as pictures use it: strict
// about nesting, quotes, entities and characters; knows no comments, CDATA or
// DTDs.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sortition {

class XmlChecker {
 public:
  // Empty, or what is wrong.
  static std::string Problem(absl::string_view text) {
    XmlChecker checker;
    if (absl::StartsWith(text, "<?xml ")) {
      text.remove_prefix(text.find("?>") + 2);
    }
    while (!text.empty() && checker.problem_.empty()) {
      const bool tag = text[0] == '<';
      const size_t end =
          tag ? text.find('>') : std::min(text.find('<'), text.size());
      if (end == absl::string_view::npos) return "an unclosed tag";
      tag ? checker.Tag(text.substr(1, end - 1))
          : checker.Characters(text.substr(0, end));
      text.remove_prefix(tag ? end + 1 : end);
    }
    if (checker.problem_.empty() && !checker.open_.empty()) {
      return absl::StrCat("<", checker.open_.back(), "> is not closed");
    }
    return checker.problem_.empty() && checker.roots_ != 1
               ? absl::StrCat(checker.roots_, " roots")
               : checker.problem_;
  }

 private:
  void Characters(absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < 0x20 && byte != '\n' && byte != '\t') {
        problem_ = absl::StrCat("control character ", byte);
      }
      if (byte != '&') continue;
      bool known = false;
      for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
        known = known || absl::StartsWith(text.substr(i), entity);
      }
      if (!known) problem_ = absl::StrCat("& in '", text, "'");
    }
    if (open_.empty() && text.find_first_not_of(" \n") != text.npos) {
      problem_ = absl::StrCat("text outside: '", text, "'");
    }
  }

  void Tag(absl::string_view tag) {
    if (absl::StartsWith(tag, "/")) {
      if (open_.empty() || open_.back() != tag.substr(1)) {
        problem_ = absl::StrCat("<", tag, "> closes nothing");
      } else {
        open_.pop_back();
      }
      return;
    }
    const bool empty = absl::EndsWith(tag, "/");
    if (empty) tag.remove_suffix(1);
    const absl::string_view name = tag.substr(0, tag.find(' '));
    roots_ += open_.empty() ? 1 : 0;
    if (!empty) open_.emplace_back(name);
    tag.remove_prefix(name.size());
    while (!tag.empty() && problem_.empty()) Attribute(&tag);
  }

  // ` name="value"`
  void Attribute(absl::string_view* rest) {
    while (absl::StartsWith(*rest, " ")) rest->remove_prefix(1);
    if (rest->empty()) return;
    const size_t equals = rest->find("=\"");
    const size_t close =
        equals == rest->npos ? rest->npos : rest->find('"', equals + 2);
    if (close == rest->npos ||
        rest->substr(0, equals).find_first_of(" <\"") != rest->npos) {
      problem_ = absl::StrCat("attribute in '", *rest, "'");
      return;
    }
    const absl::string_view value =
        rest->substr(equals + 2, close - equals - 2);
    if (value.find('<') != value.npos) problem_ = "< in an attribute";
    open_.emplace_back();  // Text is allowed here.
    Characters(value);
    open_.pop_back();
    rest->remove_prefix(close + 1);
  }

  std::vector<std::string> open_;
  int roots_ = 0;
  std::string problem_;
};

}  // namespace sortition
