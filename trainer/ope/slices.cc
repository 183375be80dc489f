#include "trainer/ope/slices.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "trainer/decision_files/named_files.h"

namespace sortition {
namespace {

constexpr size_t kFewestValues = 2;
constexpr size_t kMostAutomaticValues = 20;
constexpr size_t kMostSegments = 100;
constexpr int64_t kMostDays = 62;
constexpr size_t kPropensityRanges = 5;

// Together, slices have some 256 MB; each has enough groups for a standard
// error.
constexpr size_t kBytesPerPolicy = 850;
constexpr size_t kMostBytes = size_t{256} << 20;
constexpr size_t kFewestGroups = 128;
constexpr size_t kMostGroups = 1024;

constexpr char kNone[] = "(none)";

std::string DayText(int64_t day) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixSeconds(day * 86400),
                          absl::UTCTimeZone());
}

int64_t DayOf(int64_t time_us) {
  constexpr int64_t kDayUs = int64_t{86400} * 1000000;
  return time_us / kDayUs;
}

}  // namespace

absl::StatusOr<Slices> Slices::Plan(const config::v1::OpeOptions& options,
                                    const LogSummary& summary,
                                    size_t num_policies) {
  Slices slices;
  RETURN_IF_ERROR(slices.PlanSegments(options, summary));
  slices.PlanDays(summary);
  slices.PlanPropensities(summary);
  slices.MakeSums(num_policies);
  return slices;
}

absl::Status Slices::PlanSegments(const config::v1::OpeOptions& options,
                                  const LogSummary& summary) {
  std::vector<std::string> names = SplitEntries(options.segments());
  for (const std::string& name : names) {
    const auto found = summary.attributes.find(name);
    if (found == summary.attributes.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "segments has '", name, "', must be an attribute of the log: ",
          absl::StrJoin(summary.attributes, ", ",
                        [](std::string* out, const auto& attribute) {
                          out->append(attribute.first);
                        })));
    }
    if (found->second.has_more) {
      return absl::InvalidArgumentError(absl::StrCat(
          "segments has '", name, "', which has more than ",
          LogSummary::kMostValues, " values, must have at most as many"));
    }
  }
  if (names.empty()) {
    for (const auto& [name, attribute] : summary.attributes) {
      const size_t values = attribute.values.size() +
                            (attribute.decisions < summary.decisions ? 1 : 0);
      if (values >= kFewestValues && values <= kMostAutomaticValues) {
        names.push_back(name);
      }
    }
  }
  for (const std::string& name : names) {
    const LogSummary::Attribute& attribute = summary.attributes.at(name);
    Segmentation segmentation{.attribute = name, .segments = {}};
    const auto add = [&](const std::string& value) {
      segmentation.segments[value] = names_[0].size();
      names_[0].push_back(absl::StrCat(name, " = ", value));
    };
    if (names_[0].size() + attribute.values.size() >= kMostSegments) break;
    for (const auto& [value, count] : attribute.values) add(value);
    if (attribute.decisions < summary.decisions &&
        !segmentation.segments.contains(kNone)) {
      add(kNone);
    }
    segmentations_.push_back(std::move(segmentation));
  }
  return absl::OkStatus();
}

void Slices::PlanDays(const LogSummary& summary) {
  first_day_ = DayOf(summary.first_time_us);
  const int64_t days = DayOf(summary.last_time_us) - first_day_ + 1;
  if (days < 2) return;
  days_each_ = (days + kMostDays - 1) / kMostDays;
  for (int64_t day = 0; day < days; day += days_each_) {
    std::string name = DayText(first_day_ + day);
    if (days_each_ > 1) {
      absl::StrAppend(&name, " to ",
                      DayText(first_day_ + day + days_each_ - 1));
    }
    names_[1].push_back(std::move(name));
  }
}

void Slices::PlanPropensities(const LogSummary& summary) {
  const std::vector<double> log10 =
      summary.PropensityQuantiles(kPropensityRanges);
  if (log10.empty()) return;
  for (const double edge : log10) edges_.push_back(edge * std::numbers::ln10);
  for (size_t i = 0; i <= edges_.size(); ++i) {
    const double from = i == 0 ? 0 : std::exp(edges_[i - 1]);
    const double to = i == edges_.size() ? 1 : std::exp(edges_[i]);
    names_[2].push_back(absl::StrFormat("%.3g to %.3g", from, to));
  }
}

void Slices::MakeSums(size_t num_policies) {
  const size_t all = names_[0].size() + names_[1].size() + names_[2].size();
  if (all == 0) return;
  const size_t groups =
      std::clamp(kMostBytes / (all * (num_policies + 1) * kBytesPerPolicy),
                 kFewestGroups, kMostGroups);
  std::vector<Slice>* const targets[] = {&segments_, &days_, &propensities_};
  for (size_t kind = 0; kind < 3; ++kind) {
    for (std::string& name : names_[kind]) {
      targets[kind]->emplace_back(std::move(name), num_policies, groups);
    }
  }
}

void Slices::Add(const LoggedDecision& logged, const JudgedRow& row) {
  const auto add = [&](Slice* slice) {
    slice->units.Add(row.group_hash);
    row.AddTo(&slice->sums);
  };
  const auto& attributes = logged.decision->attributes();
  for (const Segmentation& segmentation : segmentations_) {
    const auto value = attributes.find(segmentation.attribute);
    const auto found = segmentation.segments.find(
        value == attributes.end() ? kNone : value->second);
    if (found != segmentation.segments.end()) add(&segments_[found->second]);
  }
  if (!days_.empty() && logged.decision->time_us() > 0) {
    const int64_t day = DayOf(logged.decision->time_us()) - first_day_;
    const auto place = static_cast<size_t>(day / days_each_);
    // The summary may be that of another log than this one.
    if (day >= 0 && place < days_.size()) add(&days_[place]);
  }
  if (!propensities_.empty()) {
    const auto edge =
        std::upper_bound(edges_.begin(), edges_.end(), logged.log_propensity);
    // The range selects actions, so that missing mass does not apply.
    selected_.assign(row.policies.begin(), row.policies.end());
    for (JudgedDecision& judged : selected_) judged.missing.reset();
    JudgedRow selected = row;
    selected.policies = selected_;
    Slice& slice = propensities_[static_cast<size_t>(edge - edges_.begin())];
    slice.units.Add(row.group_hash);
    selected.AddTo(&slice.sums);
  }
}

void Slices::RefuteLogging(size_t policy) {
  for (auto* const slices : {&segments_, &days_, &propensities_}) {
    for (Slice& slice : *slices) slice.sums.RefuteLogging(policy);
  }
}

}  // namespace sortition
