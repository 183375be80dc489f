// A label file: refused with a reason, or read. The first byte has the options
// of the reader; a group file may follow the label file behind a zero byte.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "io/datasets/letor.h"
#include "io/datasets/multilabel.h"
#include "io/datasets/query_candidates.h"
#include "tests/fuzz/fuzz_target.h"

namespace sortition {
namespace {

// Larger data would only be slow.
constexpr uint64_t kMostValues = uint64_t{1} << 16;

// Returns true if a number in front of a colon may be a feature from 10,000 on.
// Rows are dense and may take 4 GiB, which is more than a fuzzer has.
bool HasLargeFeature(absl::string_view text) {
  constexpr size_t kMostDigits = 4;
  size_t digits = 0;
  for (const char c : text) {
    if (c == ':' && digits > kMostDigits) return true;
    digits =
        absl::ascii_isdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
  }
  return false;
}

void CheckRefusal(const absl::Status& status) {
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(!status.message().empty());
}

// Every value is finite, and those that no line states are 0 and counted.
void CheckRows(const LabelledQueries& data) {
  uint64_t absent = 0;
  for (const LabelledQuery& query : data.queries) {
    const size_t n = query.relevances.size();
    CHECK(n > 0);
    CHECK(query.file_rows.size() == n);
    CHECK(query.features.size() == n * data.num_features);
    for (size_t row = 0; row < n; ++row) {
      CHECK(!query.stated->Has(row, data.num_features));
      for (uint32_t j = 0; j < data.num_features; ++j) {
        const float value = query.features[row * data.num_features + j];
        CHECK(std::isfinite(value));
        if (query.stated->Has(row, j)) continue;
        CHECK(value == 0);
        ++absent;
      }
    }
    v1::Candidates candidates;
    SetQueryCandidates(query, data.num_features, &candidates);
    CHECK(candidates.num_features() == data.num_features);
  }
  CHECK(absent == data.absent_values);
}

// Text of the same data has the same rows.
void CheckRoundTrip(const LabelledQueries& data) {
  const auto again = ParseLetor(FormatLetor(data));
  CHECK(again.ok());
  CHECK(again->queries.size() == data.queries.size());
  for (size_t i = 0; i < data.queries.size(); ++i) {
    CHECK(again->queries[i].relevances == data.queries[i].relevances);
    CHECK(again->queries[i].features == data.queries[i].features);
  }
}

bool IsSmall(const LabelledQueries& data) {
  uint64_t values = 0;
  for (const LabelledQuery& query : data.queries) {
    values += query.features.size();
  }
  return values <= kMostValues;
}

// Multi-label text needs no rows, so that its size bounds the work.
void ReadMultilabelText(absl::string_view text,
                        const SvmlightOptions& options) {
  const auto data = ParseMultilabel(text, options);
  if (!data.ok()) return CheckRefusal(data.status());
  for (const float value : data->values) CHECK(std::isfinite(value));
}

void ReadLetorText(absl::string_view text, const SvmlightOptions& options) {
  const size_t zero = text.find('\0');
  std::optional<QueryGroups> groups;
  if (zero != absl::string_view::npos) {
    auto parsed = ParseQueryGroups("groups", text.substr(zero + 1));
    if (!parsed.ok()) return CheckRefusal(parsed.status());
    groups = *std::move(parsed);
  }
  const auto data = ParseLetor(text.substr(0, zero), options,
                               groups.has_value() ? &*groups : nullptr);
  if (!data.ok()) return CheckRefusal(data.status());
  if (!IsSmall(*data)) return;
  CheckRows(*data);
  CheckRoundTrip(*data);
}

}  // namespace
}  // namespace sortition

FUZZ_TARGET(letor) {
  if (size == 0) return;
  const sortition::SvmlightOptions options{
      .first_feature = data[0] & 1u,
      .extreme_values =
          static_cast<sortition::ExtremeValues>(data[0] >> 1 & 3u)};
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  if (sortition::HasLargeFeature(text)) return;
  if ((data[0] & 8) != 0) {
    sortition::ReadMultilabelText(text, options);
  } else {
    sortition::ReadLetorText(text, options);
  }
}
