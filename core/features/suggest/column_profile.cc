#include "core/features/suggest/column_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/features/schema/inferred_schema.h"
#include "core/features/text/english.h"
#include "core/features/text/word_id.h"
#include "core/features/text/word_splitter.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

// Largest share of requests of another type that counts as a mistake.
constexpr double kMaxOddShare = 0.01;
// Quantile bins: numbers closer to 0 than kSmallest count as 0.
constexpr double kGrowth = 1.02;
constexpr double kSmallest = 1e-12;

absl::string_view CutToUtf8(absl::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  // Continuation bytes of UTF-8 are 10xxxxxx.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

bool IsLikeNumber(absl::string_view text) {
  double number = 0;
  return absl::SimpleAtod(text, &number) && std::isfinite(number);
}

// Returns whether a text begins as 2026-11-30, 2026/11/30, 30.11.2026 or
// 11/30/26 do.
bool IsLikeDate(absl::string_view text) {
  std::vector<size_t> digits(1);
  char separator = 0;
  for (const char c : text) {
    if (absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      ++digits.back();
    } else if ((c == '-' || c == '/' || c == '.') && digits.back() > 0 &&
               (separator == 0 || c == separator) && digits.size() < 3) {
      separator = c;
      digits.push_back(0);
    } else {
      break;
    }
  }
  if (digits.size() != 3 || digits[1] < 1 || digits[1] > 2) return false;
  const bool year_first = digits[0] == 4 && digits[2] >= 1 && digits[2] <= 2;
  const bool year_last =
      digits[0] <= 2 && (digits[2] == 2 || digits[2] == 4) && digits[0] > 0;
  return separator == '.' ? year_last && digits[2] == 4
                          : year_first || year_last;
}

std::string SignatureText(const ColumnSchema& schema) {
  return absl::StrCat(
      TypeName(schema.type()),
      schema.size() > 0 ? absl::StrCat(" of size ", schema.size()) : "",
      schema.scope() == ColumnSchema::QUERY ? " of the query"
                                            : " of candidates");
}

}  // namespace

void DistinctSample::Add(absl::string_view value) {
  const uint64_t hash = WordId(value);
  if (values_.size() == kMost && hash >= values_.rbegin()->first) return;
  const auto [place, added] = values_.try_emplace(hash);
  if (!added) return;
  place->second = std::string(CutToUtf8(value, kMostBytes));
  if (values_.size() > kMost) values_.erase(std::prev(values_.end()));
}

double DistinctSample::Estimate() const {
  if (values_.size() < kMost) return static_cast<double>(values_.size());
  constexpr double kHashes = 18446744073709551616.0;  // 2^64.
  return (kMost - 1) * kHashes / static_cast<double>(values_.rbegin()->first);
}

void QuantileBins::Add(double value) {
  ++count_;
  const double size = std::abs(value);
  int bin = 0;
  if (size > kSmallest) {
    bin = 1 + static_cast<int>(std::log(size / kSmallest) / std::log(kGrowth));
  }
  ++counts_[value < 0 ? -bin : bin];
}

double QuantileBins::Quantile(double share) const {
  CHECK(count_ > 0);
  const double rank = share * static_cast<double>(count_);
  double below = 0;
  int bin = 0;
  for (const auto& [each, count] : counts_) {
    bin = each;
    below += static_cast<double>(count);
    if (below >= rank) break;
  }
  if (bin == 0) return 0;
  const double size = kSmallest * std::pow(kGrowth, std::abs(bin) - 0.5);
  return bin < 0 ? -size : size;
}

// A column as requests of one signature have it.
struct ColumnProfiler::State {
  ColumnSchema schema;
  std::string signature;  // SignatureText(schema)
  uint64_t num_queries = 0;
  uint64_t num_values = 0;
  uint64_t num_missing = 0;
  uint64_t num_set_values = 0;
  uint64_t num_compared = 0;
  uint64_t num_varying = 0;
  bool is_integer = true;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  QuantileBins quantiles;
  DistinctSample distinct;

  void Add(const BoundColumn& column, uint32_t row);
  void AddNumber(double number);
  void AddStrings(WordSplitter* splitter, ColumnProfile* profile) const;
};

void ColumnProfiler::State::AddNumber(double number) {
  is_integer = is_integer && number == std::floor(number);
  min = std::min(min, number);
  max = std::max(max, number);
  quantiles.Add(number);
  const uint64_t bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
  distinct.Add({reinterpret_cast<const char*>(&bits), sizeof(bits)});
}

void ColumnProfiler::State::Add(const BoundColumn& column, uint32_t row) {
  if (column.Missing(row)) {
    ++num_missing;
    return;
  }
  ++num_values;
  switch (schema.type()) {
    case ColumnSchema::NUMBER:
      return AddNumber(column.Number(row));
    case ColumnSchema::CATEGORY_SET:
      for (const std::string* const value : column.Set(row)) {
        ++num_set_values;
        distinct.Add(*value);
      }
      return;
    case ColumnSchema::VECTOR:
      return;
    default:
      return distinct.Add(column.Text(row));
  }
}

void ColumnProfiler::State::AddStrings(WordSplitter* splitter,
                                       ColumnProfile* profile) const {
  if (schema.type() == ColumnSchema::NUMBER || distinct.values().empty()) {
    return;
  }
  TextWords words;
  double num_words = 0, num_stop_words = 0;
  for (const auto& [hash, text] : distinct.values()) {
    profile->like_numbers += IsLikeNumber(text) ? 1 : 0;
    profile->like_dates += IsLikeDate(text) ? 1 : 0;
    words.Clear();
    splitter->Split(text, &words);
    num_words += static_cast<double>(words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      num_stop_words += (words.kind(i) & kStopWord) != 0 ? 1 : 0;
    }
    const bool asks = words.size() > 0 && words.kind(0) >> kQuestionShift != 0;
    profile->like_questions +=
        asks || (!text.empty() && text.back() == '?') ? 1 : 0;
  }
  const auto n = static_cast<double>(distinct.values().size());
  profile->like_numbers /= n;
  profile->like_dates /= n;
  profile->like_questions /= n;
  profile->mean_words = num_words / n;
  profile->stop_words = num_words == 0 ? 0 : num_stop_words / num_words;
}

// A column of one name.
struct ColumnProfiler::Column {
  // Values are described for so many signatures; of further ones only the
  // requests are counted.
  static constexpr size_t kMaxStates = 4;

  std::map<std::string, uint64_t> signatures;  // Number of requests.
  std::vector<std::unique_ptr<State>> states;  // In the order they came.

  // Returns null if there are too many.
  State* FindOrAdd(const ColumnSchema& schema) {
    std::string signature = SignatureText(schema);
    ++signatures[signature];
    for (const auto& state : states) {
      if (state->signature == signature) return state.get();
    }
    if (states.size() == kMaxStates) return nullptr;
    states.push_back(std::make_unique<State>());
    states.back()->schema = schema;
    states.back()->signature = std::move(signature);
    return states.back().get();
  }

  // Returns that of most requests.
  const State& Usual() const {
    return **std::max_element(states.begin(), states.end(),
                              [](const auto& a, const auto& b) {
                                return std::tie(a->num_queries, b->signature) <
                                       std::tie(b->num_queries, a->signature);
                              });
  }

  // Returns "NUMBER in 812 requests, TEXT in 1 request" of all signatures but
  // `except`.
  std::string CountsExcept(absl::string_view except) const {
    std::vector<std::string> counts;
    for (const auto& [signature, count] : signatures) {
      if (signature == except) continue;
      counts.push_back(absl::StrCat(signature, " in ", count,
                                    count == 1 ? " request" : " requests"));
    }
    return absl::StrJoin(counts, ", ");
  }
};

ColumnProfiler::ColumnProfiler() = default;
ColumnProfiler::~ColumnProfiler() = default;

absl::Status ColumnProfiler::Add(const sortition::v1::Columns& columns) {
  // A column that an inferred schema has may not be absent, and another one
  // must not be overlooked.
  const auto num_columns =
      static_cast<size_t>(columns.candidate_size() + columns.query_size());
  if (schema_ == nullptr || schema_->size() != num_columns ||
      !bound_.Bind(*schema_, columns).ok()) {
    ASSIGN_OR_RETURN(Schema schema, InferSchema(columns));
    schema_ = std::make_unique<const Schema>(std::move(schema));
    const absl::Status status = bound_.Bind(*schema_, columns);
    if (!status.ok()) {
      schema_ = nullptr;
      return status;
    }
  }
  ++num_queries_;
  num_candidates_ += columns.num_candidates();
  for (size_t i = 0; i < schema_->size(); ++i) {
    AddColumn(schema_->column(i), bound_.column(i), columns.num_candidates());
  }
  return absl::OkStatus();
}

void ColumnProfiler::AddColumn(const ColumnSchema& schema,
                               const BoundColumn& column,
                               uint32_t num_candidates) {
  auto found = columns_.find(schema.name());
  if (found == columns_.end()) {
    if (columns_.size() == static_cast<size_t>(Schema::kMostColumns)) return;
    found = columns_.emplace(schema.name(), std::make_unique<Column>()).first;
  }
  State* const added = found->second->FindOrAdd(schema);
  if (added == nullptr) return;
  State& state = *added;
  ++state.num_queries;
  const bool is_query = schema.scope() == ColumnSchema::QUERY;
  const uint32_t num_rows = is_query ? 1 : num_candidates;
  const auto equals_first = [&](uint32_t row) {
    if (column.Missing(row) != column.Missing(0)) return false;
    if (column.Missing(row)) return true;
    switch (schema.type()) {
      case ColumnSchema::NUMBER:
        return column.Number(row) == column.Number(0);
      case ColumnSchema::CATEGORY_SET: {
        const auto a = column.Set(row), b = column.Set(0);
        return std::equal(
            a.begin(), a.end(), b.begin(), b.end(),
            [](const auto* x, const auto* y) { return *x == *y; });
      }
      case ColumnSchema::VECTOR: {
        const auto a = column.Vector(row), b = column.Vector(0);
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
      }
      default:
        return column.Text(row) == column.Text(0);
    }
  };
  bool varies = false;
  for (uint32_t row = 0; row < num_rows; ++row) {
    state.Add(column, row);
    varies = varies || !equals_first(row);
  }
  if (num_rows > 1) {
    ++state.num_compared;
    state.num_varying += varies ? 1 : 0;
  }
}

ColumnProfiles ColumnProfiler::Finish() const {
  ColumnProfiles result;
  result.num_queries = num_queries_;
  result.num_candidates = num_candidates_;
  const auto splitter = WordSplitter::Create("");
  CHECK(splitter.ok());
  for (const auto& [name, signatures] : columns_) {
    const State* const state = &signatures->Usual();
    ColumnProfile& profile = result.columns.emplace_back();
    profile.name = name;
    profile.type = state->schema.type();
    profile.scope = state->schema.scope();
    profile.size = state->schema.size();
    for (const auto& [text, count] : signatures->signatures) {
      profile.num_queries += count;
    }
    const uint64_t num_odd = profile.num_queries - state->num_queries;
    if (static_cast<double>(num_odd) <=
        kMaxOddShare * static_cast<double>(profile.num_queries)) {
      profile.odd = signatures->CountsExcept(state->signature);
    } else {
      profile.conflict = signatures->CountsExcept("");
    }
    profile.num_values = state->num_values;
    profile.num_missing = state->num_missing;
    profile.num_set_values = state->num_set_values;
    profile.num_distinct = state->distinct.Estimate();
    profile.num_compared = state->num_compared;
    profile.num_varying = state->num_varying;
    if (profile.type == ColumnSchema::NUMBER && state->num_values > 0) {
      profile.is_integer = state->is_integer;
      profile.min = state->min;
      profile.max = state->max;
      profile.median = state->quantiles.Quantile(0.5);
      profile.high = state->quantiles.Quantile(0.99);
    }
    state->AddStrings(splitter->get(), &profile);
  }
  std::stable_sort(result.columns.begin(), result.columns.end(),
                   [](const ColumnProfile& a, const ColumnProfile& b) {
                     return a.scope > b.scope;
                   });
  return result;
}

}  // namespace sortition
