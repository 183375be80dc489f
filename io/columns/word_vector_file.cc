#include "io/columns/word_vector_file.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/features/schema/utf8.h"
#include "core/features/text/word_splitter.h"
#include "io/columns/query_builder.h"
#include "io/text/input_lines.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

constexpr uint32_t kMostSize = 4096;

using Words = std::map<std::string, std::vector<float>>;

absl::StatusOr<uint32_t> ParseHeader(absl::string_view line) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  uint64_t num_words = 0;
  uint32_t size = 0;
  if (fields.size() == 2 && ParseNumber(fields[0], &num_words) &&
      ParseNumber(fields[1], &size) && size >= 1 && size <= kMostSize) {
    return size;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("is '", Shown(line),
                   "', must be \"<words> <size>\" with a "
                   "size in [1, ",
                   kMostSize, "]"));
}

absl::Status AddLine(absl::string_view line, uint32_t size,
                     WordSplitter* splitter, Words* words) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (fields.size() != size + size_t{1}) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", fields.size(), " fields, must have ", size + 1,
                     ": a word and ", size, " numbers"));
  }
  if (FindNotUtf8(fields[0]) != absl::string_view::npos) {
    return absl::InvalidArgumentError("column 1: the word must be UTF-8");
  }
  std::vector<float> vector(size);
  for (size_t j = 0; j < size; ++j) {
    if (ParseNumber(fields[j + 1], &vector[j]) && std::isfinite(vector[j])) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("column ", j + 2, ": '", Shown(fields[j + 1]),
                     "' must be a finite number"));
  }
  words->emplace(splitter->Fold(fields[0]), std::move(vector));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<model::v1::WordVectors> ReadWordVectors(const std::string& path,
                                                       uint64_t most_words) {
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, false));
  ASSIGN_OR_RETURN(const auto splitter, WordSplitter::Create(""));
  InputLine line;
  ASSIGN_OR_RETURN(const bool has_header, lines->Next(&line));
  if (!has_header) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":1: is empty"));
  }
  const auto size = ParseHeader(line.text());
  RETURN_IF_ERROR(AtLine(size.status(), path, line.number));
  Words words;
  for (uint64_t i = 0; most_words == 0 || i < most_words; ++i) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) break;
    RETURN_IF_ERROR(AtLine(AddLine(line.text(), *size, splitter.get(), &words),
                           path, line.number));
  }
  model::v1::WordVectors vectors;
  vectors.set_size(*size);
  for (const auto& [word, vector] : words) {
    vectors.add_word(word);
    vectors.mutable_values()->Add(vector.begin(), vector.end());
  }
  return vectors;
}

}  // namespace sortition
