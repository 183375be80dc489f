#include "client/validation/feature_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace sortition {
namespace {

// Of all versions together, 24 bytes each.
constexpr uint64_t kMostColumns = 1 << 22;
// Versions with fewer decisions are not compared.
constexpr uint64_t kFewestDecisions = 100;
constexpr double kRangeFactor = 10;
// A column moved if its mean did by so many deviations, or its deviation by
// such a factor. It is the same as another within the smaller bounds.
constexpr double kMovedMean = 0.5;
constexpr double kMovedDeviation = 1.5;
constexpr double kSameMean = 0.25;
constexpr double kSameDeviation = 1.3;
// Columns that moved and are compared with each other, and that are named.
constexpr size_t kMaxMovedColumns = 1000;
constexpr size_t kMaxNamedColumns = 5;

bool IsWithin(const ColumnStatistics& a, size_t i, const ColumnStatistics& b,
              size_t j, double means, double factor) {
  const double larger = std::max(a.deviation(i), b.deviation(j));
  const double smaller = std::min(a.deviation(i), b.deviation(j));
  return std::abs(a.mean(i) - b.mean(j)) <= means * larger &&
         larger <= factor * smaller;
}

bool IsOutOfRange(const ColumnStatistics& before, const ColumnStatistics& now,
                  size_t column) {
  const double a = before.most(column) - before.least(column);
  const double b = now.most(column) - now.least(column);
  if (a == 0 && b == 0) return before.most(column) != now.most(column);
  return std::max(a, b) > kRangeFactor * std::min(a, b) ||
         before.most(column) < now.least(column) ||
         now.most(column) < before.least(column);
}

std::string Names(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMaxNamedColumns);
  return absl::StrCat(
      absl::StrJoin(names.begin(),
                    names.begin() + static_cast<ptrdiff_t>(shown), ", "),
      names.size() > shown
          ? absl::StrCat(" and ", names.size() - shown, " more")
          : "");
}

}  // namespace

ColumnStatistics::ColumnStatistics(uint32_t num_features)
    : sum_(num_features),
      squares_(num_features),
      least_(num_features, std::numeric_limits<float>::infinity()),
      most_(num_features, -std::numeric_limits<float>::infinity()) {}

bool ColumnStatistics::Add(const log::v1::Decision& decision) {
  if (decision.has_sparse() ? !AddSparse(decision) : !AddDense(decision)) {
    return false;
  }
  ++decisions_;
  rows_ += decision.num_candidates();
  return true;
}

bool ColumnStatistics::AddDense(const log::v1::Decision& decision) {
  const auto& values = decision.dense_values();
  const size_t d = size();
  if (static_cast<uint64_t>(values.size()) !=
      uint64_t{decision.num_candidates()} * d) {
    return false;
  }
  if (!std::all_of(values.begin(), values.end(),
                   [](float value) { return std::isfinite(value); })) {
    return false;
  }
  for (const float* row = values.data(); row != values.data() + values.size();
       row += d) {
    for (size_t j = 0; j < d; ++j) {
      const double value = row[j];
      sum_[j] += value;
      squares_[j] += value * value;
      least_[j] = std::min(least_[j], row[j]);
      most_[j] = std::max(most_[j], row[j]);
    }
  }
  return true;
}

bool ColumnStatistics::AddSparse(const log::v1::Decision& decision) {
  const auto& columns = decision.sparse().columns();
  const auto& values = decision.sparse().values();
  if (columns.size() != values.size()) return false;
  for (int i = 0; i < columns.size(); ++i) {
    if (columns[i] >= size() || !std::isfinite(values[i])) return false;
  }
  for (int i = 0; i < columns.size(); ++i) {
    const double value = values[i];
    sum_[columns[i]] += value;
    squares_[columns[i]] += value * value;
    least_[columns[i]] = std::min(least_[columns[i]], values[i]);
    most_[columns[i]] = std::max(most_[columns[i]], values[i]);
  }
  return true;
}

double ColumnStatistics::mean(size_t column) const {
  return sum_[column] / static_cast<double>(std::max<uint64_t>(1, rows_));
}

double ColumnStatistics::deviation(size_t column) const {
  const double square =
      squares_[column] / static_cast<double>(std::max<uint64_t>(1, rows_));
  return std::sqrt(std::max(0.0, square - mean(column) * mean(column)));
}

void FeatureCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr || entry.decision->has_aggregation()) return;
  if (decisions_++ % every_ != 0) return;
  const log::v1::Decision& decision = *entry.decision;
  if (decision.has_columns()) {
    ++looked_at_;
    ++with_named_;
    const absl::Status status = named_.Bind(decision.columns());
    if (!status.ok()) bad_.Add(entry, status.message());
    return;
  }
  const uint32_t d = decision.num_features();
  const std::pair<std::string, uint64_t> key = {decision.model(),
                                                decision.version()};
  const bool is_new = !versions_.entries().contains(key);
  if (is_new && columns_ + d > kMostColumns) {
    is_full_ = true;
    return;
  }
  ColumnStatistics* const version =
      versions_.Get(key, decision.model().size(), d);
  if (version == nullptr) return;
  if (is_new) columns_ += d;
  ++looked_at_;
  if (version->size() != d) {
    other_size_.Add(
        entry, absl::StrCat(d, " features, others of version ",
                            decision.version(), " of model ", decision.model(),
                            " have ", version->size()));
  } else if (!version->Add(decision)) {
    bad_.Add(entry, "features that are not finite, or not in their columns");
  }
}

void FeatureCheck::Compare(const std::string& name,
                           const ColumnStatistics& before,
                           const ColumnStatistics& now,
                           std::vector<Finding>* findings) const {
  if (before.size() != now.size()) {
    findings->push_back(
        {Level::kWarn,
         absl::StrCat(name, " has ", now.size(),
                      " features, the version before ", before.size())});
    return;
  }
  if (std::min(before.decisions(), now.decisions()) < kFewestDecisions) return;
  std::vector<size_t> moved;
  std::vector<std::string> far;
  for (size_t j = 0; j < now.size(); ++j) {
    if (!IsWithin(before, j, now, j, kMovedMean, kMovedDeviation) &&
        moved.size() < kMaxMovedColumns) {
      moved.push_back(j);
    }
    if (IsOutOfRange(before, now, j)) {
      far.push_back(absl::StrFormat("%d from [%g, %g] to [%g, %g]", j,
                                    before.least(j), before.most(j),
                                    now.least(j), now.most(j)));
    }
  }
  const auto is_same = [&](size_t i, size_t j) {
    return IsWithin(before, i, now, j, kSameMean, kSameDeviation);
  };
  std::vector<std::string> swapped;
  for (size_t a = 0; a < moved.size(); ++a) {
    for (size_t b = a + 1; b < moved.size(); ++b) {
      if (is_same(moved[a], moved[b]) && is_same(moved[b], moved[a])) {
        swapped.push_back(absl::StrCat(moved[a], " and ", moved[b]));
      }
    }
  }
  if (!swapped.empty()) {
    findings->push_back(
        {Level::kFail,
         absl::StrCat(name,
                      " has columns in each other's place: ", Names(swapped))});
  }
  if (!far.empty()) {
    findings->push_back(
        {Level::kWarn,
         absl::StrCat(name, " has columns whose range moved: ", Names(far))});
  }
}

std::vector<Finding> FeatureCheck::Report() const {
  std::vector<Finding> findings;
  if (bad_.count() > 0) {
    findings.push_back({Level::kFail, bad_.Text(looked_at_, "decisions")});
  }
  if (other_size_.count() > 0) {
    findings.push_back(
        {Level::kWarn, other_size_.Text(looked_at_, "decisions")});
  }
  const std::pair<const std::pair<std::string, uint64_t>, ColumnStatistics>*
      before = nullptr;
  for (const auto& version : versions_.entries()) {
    if (before != nullptr && before->first.first == version.first.first) {
      Compare(
          absl::StrCat(version.first.first, " version ", version.first.second),
          before->second, version.second, &findings);
    }
    before = &version;
  }
  if (is_full_) {
    findings.push_back(
        {Level::kWarn, absl::StrCat("not all versions were looked at: they "
                                    "have more than ",
                                    kMostColumns, " columns together")});
  }
  versions_.AppendLeftOut("decisions", "versions", &findings);
  if (findings.empty()) {
    findings.push_back(
        {Level::kPass,
         absl::StrCat("columns alike in ", versions_.entries().size(),
                      " versions, by ", looked_at_ - with_named_, " decisions",
                      with_named_ == 0
                          ? ""
                          : absl::StrCat("; named columns of ", with_named_,
                                         " decisions well-formed"))});
  }
  return findings;
}

}  // namespace sortition
