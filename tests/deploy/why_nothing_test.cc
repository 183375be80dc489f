// docs/howto/why_was_nothing_published.md has rows for messages that there are.
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr char kProjectRoot[] = SORTITION_SOURCES;

// The sources of what the trainer says, with literals that span lines in one.
std::string SourcesOfMessages() {
  std::string all;
  // Findings about logs and drafts of features are made in core.
  for (const char* const folder : {"/trainer", "/core"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::string(kProjectRoot) + folder)) {
      if (entry.path().extension() != ".cc") continue;
      all += ReadFile(entry.path().string()).value();
    }
  }
  std::string joined;
  // Drops what is between the end of a literal and the beginning of the next.
  for (size_t at = 0; at < all.size();) {
    if (all[at] == '"') {
      size_t next = at + 1;
      while (next < all.size() && (all[next] == ' ' || all[next] == '\n')) {
        ++next;
      }
      if (next > at + 1 && next < all.size() && all[next] == '"') {
        at = next + 1;
        continue;
      }
    }
    joined.push_back(all[at++]);
  }
  return joined;
}

// The texts in backquotes of the first column, of each row.
std::vector<std::vector<std::string>> Rows() {
  const std::string page = ReadFile(std::string(kProjectRoot) +
                                    "/docs/howto/why_was_nothing_published.md")
                               .value();
  std::vector<std::vector<std::string>> rows;
  bool is_in_table = false;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::StartsWith(line, "|")) is_in_table = false;
    if (absl::StartsWith(line, "| the message has")) is_in_table = true;
    if (!is_in_table || !absl::StartsWith(line, "| `")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    std::vector<std::string>& texts = rows.emplace_back();
    const std::vector<std::string> parts = absl::StrSplit(cells[1], '`');
    for (size_t i = 1; i < parts.size(); i += 2) texts.push_back(parts[i]);
  }
  return rows;
}

TEST(WhyNothingTest, RowsAreOfMessagesThatThereAre) {
  const std::string sources = SourcesOfMessages();
  const auto rows = Rows();
  EXPECT_GT(rows.size(), 15u);
  for (const std::vector<std::string>& row : rows) {
    ASSERT_FALSE(row.empty());
    for (const std::string& text : row) {
      EXPECT_TRUE(absl::StrContains(sources, text)) << text;
    }
  }
}

}  // namespace
}  // namespace sortition
