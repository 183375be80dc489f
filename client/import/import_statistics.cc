#include "client/import/import_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "core/base/hash.h"
#include "core/data/action.h"
#include "io/segments/decision_view.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

// Propensities of few digits, such as 0.33, are wrong by this much.
constexpr double kRounding = 0.01;
// Fewer selections may have equal weights by chance.
constexpr uint64_t kMinSelections = 1000;
// Times of other years are nearly always times in another unit.
constexpr int kEarliestYear = 1990;
constexpr int kLatestYear = 2100;

uint64_t HashOf(absl::string_view text) { return HashBytes(text).low; }

// Returns a number that is equal for equal values; requires one that is there.
uint64_t Fingerprint(const BoundColumn& column, ColumnSchema::Type type,
                     uint32_t row) {
  switch (type) {
    case ColumnSchema::NUMBER:
      return std::bit_cast<uint64_t>(column.Number(row));
    case ColumnSchema::CATEGORY_SET: {
      std::string all;
      for (const std::string* value : column.Set(row)) {
        absl::StrAppend(&all, value->size(), ":", *value);
      }
      return HashOf(all);
    }
    case ColumnSchema::VECTOR: {
      const std::span<const float> values = column.Vector(row);
      return HashOf(
          {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    }
    default:
      return HashOf(column.Text(row));
  }
}

std::string Percent(uint64_t part, uint64_t whole) {
  return absl::StrCat(
      std::round(1000.0 * static_cast<double>(part) /
                 static_cast<double>(std::max<uint64_t>(whole, 1))) /
          10,
      " %");
}

}  // namespace

void Spread::Add(double value, double counts) {
  minimum = count == 0 ? value : std::min(minimum, value);
  maximum = count == 0 ? value : std::max(maximum, value);
  sum += counts * value;
  sum_of_counts += counts;
  ++count;
}

void ImportStatistics::Compared::Add(uint64_t value) {
  if (rows++ == 0) first = value;
  is_constant &= value == first;
}

void ImportStatistics::Add(const log::v1::BanditTuple& tuple,
                           const UndeclaredColumns* columns) {
  const log::v1::Decision& decision = tuple.decision();
  const bool is_first = rewards_.count == 0;
  const double counts =
      tuple.keep_probability() > 0 ? 1 / tuple.keep_probability() : 1;
  rewards_.Add(tuple.reward(), counts);
  const auto eligible = static_cast<double>(NumEligible(decision));
  candidates_.Add(eligible);
  CompareWeights(decision, eligible, counts);
  with_feedback_ += tuple.has_feedback() ? 1 : 0;
  may_abstain_ += decision.can_abstain() ? 1 : 0;
  abstained_ +=
      decision.action_size() == 1 && decision.action(0) == kAbstain ? 1 : 0;
  overridden_ += ShownDiffers(tuple) ? 1 : 0;
  without_time_ += decision.time_us() == 0 ? 1 : 0;
  without_unit_ += decision.unit_id().empty() ? 1 : 0;
  const int64_t time_us = decision.time_us();
  if (time_us != 0) {
    const bool is_first_time = without_time_ == tuples() - 1;
    first_time_us_ =
        is_first_time ? time_us : std::min(first_time_us_, time_us);
    last_time_us_ = is_first_time ? time_us : std::max(last_time_us_, time_us);
  }
  if (is_first || models_.size() > 1 ||
      models_.begin()->first.first != decision.model() ||
      models_.begin()->first.second != decision.version()) {
    ++models_[{decision.model(), decision.version()}];
  } else {
    ++models_.begin()->second;  // The usual case, without a copy of the name.
  }
  if (compared_values_ >= kMaxCompared) return;
  ++compared_;
  columns == nullptr ? Compare(decision) : CompareColumns(*columns);
}

void ImportStatistics::CompareWeights(const log::v1::Decision& decision,
                                      double eligible, double counts) {
  const double inverse = std::exp(-decision.log_propensity());
  weights_.Add(inverse, counts);
  const double actions = eligible + (decision.can_abstain() ? 1 : 0);
  single_ += actions <= 1 ? 1 : 0;
  if (decision.action_kind() != log::v1::SELECT || actions == 0) return;
  ++selections_;
  const double weight = inverse / actions;
  uniform_counts_ += counts;
  uniform_sum_ += counts * weight;
  uniform_squares_[0] += counts * counts;
  uniform_squares_[1] += counts * counts * weight;
  uniform_squares_[2] += counts * counts * weight * weight;
}

void ImportStatistics::Compare(const log::v1::Decision& decision) {
  const uint32_t n = decision.num_candidates();
  compared_rows_ += n;
  if (decision.has_sparse()) {
    const v1::SparseFeatures& sparse = decision.sparse();
    for (int k = 0; k < sparse.columns_size(); ++k) {
      by_number_[sparse.columns(k)].Add(
          std::bit_cast<uint32_t>(sparse.values(k)));
    }
    for (uint32_t i = 0; i < n; ++i) {
      features_.Add(sparse.row_offsets(static_cast<int>(i) + 1) -
                    sparse.row_offsets(static_cast<int>(i)));
    }
    compared_values_ += static_cast<uint64_t>(sparse.columns_size());
    return;
  }
  const uint32_t d = decision.num_features();
  const float* values = decision.dense_values().data();
  for (uint32_t i = 0; i < n; ++i, values += d) {
    features_.Add(static_cast<double>(
        d - static_cast<uint32_t>(std::count(values, values + d, 0.0f))));
  }
  values = decision.dense_values().data();
  for (uint32_t j = 0; j < d; ++j) {
    Compared& feature = by_number_[j];
    for (uint32_t i = 0; i < n; ++i) {
      feature.Add(std::bit_cast<uint32_t>(values[uint64_t{i} * d + j]));
    }
  }
  compared_values_ += uint64_t{n} * d;
}

void ImportStatistics::CompareColumns(const UndeclaredColumns& columns) {
  const uint32_t n = columns.columns().num_candidates();
  const Schema& schema = columns.schema();
  compared_rows_ += n;
  std::vector<uint32_t> present(n);
  for (size_t c = 0; c < schema.size(); ++c) {
    const ColumnSchema& column = schema.column(c);
    Compared& compared = by_name_[column.name()];
    for (uint32_t i = 0; i < n; ++i) {
      const BoundColumn& values = columns.columns().column(c);
      if (values.Missing(i)) continue;
      compared.Add(Fingerprint(values, column.type(), i));
      ++present[i];
    }
  }
  for (const uint32_t count : present) features_.Add(count);
  compared_values_ += uint64_t{n} * schema.size();
}

std::string ImportStatistics::ConstantFeatures() const {
  constexpr size_t kMaxNames = 10;
  std::vector<std::string> names;
  const auto add = [&](const auto& features) {
    for (const auto& [name, feature] : features) {
      // A sparse feature is 0 where a candidate does not have it.
      if (feature.is_constant && feature.rows == compared_rows_) {
        names.push_back(absl::StrCat(name));
      }
    }
  };
  add(std::map<uint32_t, Compared>(by_number_.begin(), by_number_.end()));
  add(by_name_);
  const size_t all = by_number_.size() + by_name_.size();
  if (names.empty() || compared_rows_ < 2) return "";
  const size_t shown = std::min(names.size(), kMaxNames);
  return absl::StrCat(
      names.size(), " of ", all, " features have one value in all of the ",
      compared_ < tuples() ? "first " : "", compared_, " decisions: ",
      absl::StrJoin(names.begin(),
                    names.begin() + static_cast<ptrdiff_t>(shown), ", "),
      shown < names.size() ? ", …" : "");
}

std::vector<std::string> ImportStatistics::Warnings() const {
  std::vector<std::string> warnings;
  if (tuples() == 0) return warnings;
  if (single_ > 0) {
    warnings.push_back(absl::StrCat(
        Percent(single_, tuples()),
        " of the decisions had one possible action; nothing can be learned "
        "from them"));
  }
  if (rewards_.minimum == rewards_.maximum) {
    warnings.push_back(absl::StrCat("all rewards are ", rewards_.minimum));
  }
  if (weights_.maximum <= 1 && single_ < tuples()) {
    warnings.push_back(
        "all propensities are 1: the log did not explore, so other policies "
        "cannot be evaluated with it");
  }
  const bool is_abstention_doubtful =
      may_abstain_ == tuples() && abstained_ == 0;
  const double mean = uniform_sum_ / std::max(uniform_counts_, 1.0);
  // Standard error of a ratio of two sums.
  const double error =
      std::sqrt(std::max(0.0, uniform_squares_[2] -
                                  2 * mean * uniform_squares_[1] +
                                  mean * mean * uniform_squares_[0])) /
      std::max(uniform_counts_, 1.0);
  // One warning is enough for logs without exploration, and for those in which
  // abstaining may not have been an action.
  if (selections_ >= kMinSelections && weights_.maximum > 1 &&
      !is_abstention_doubtful && std::abs(mean - 1) > 5 * error + kRounding) {
    warnings.push_back(absl::StrCat(
        "the weights of the policy that chooses with equal probability have "
        "the mean ",
        std::round(1e4 * mean) / 1e4, ", which is ",
        mean < 1 ? "below 1 by more than five standard errors: propensities "
                   "are too large, or some actions are never chosen"
                 : "above 1 by more than five standard errors: propensities "
                   "are too small for how often their actions were chosen"));
  }
  if (is_abstention_doubtful) {
    warnings.push_back(
        "no decision abstained, although \"no answer\" counts as an action of "
        "each; if it was not one, give --cannot_abstain");
  }
  if (std::string constant = ConstantFeatures(); !constant.empty()) {
    warnings.push_back(std::move(constant));
  }
  const absl::CivilYear year = absl::ToCivilYear(
      absl::FromUnixMicros(first_time_us_), absl::UTCTimeZone());
  const absl::CivilYear last = absl::ToCivilYear(
      absl::FromUnixMicros(last_time_us_), absl::UTCTimeZone());
  if (first_time_us_ != 0 &&
      (year.year() < kEarliestYear || last.year() > kLatestYear)) {
    warnings.push_back(absl::StrCat(
        "the decisions are from the years ", year.year(), " to ", last.year(),
        "; if times are numbers, --time_unit states their unit"));
  }
  return warnings;
}

}  // namespace sortition
