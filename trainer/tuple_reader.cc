#include "trainer/tuple_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "process/log.h"
#include "trainer/tuple_convert.h"

namespace sortition {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

// Of the queries kept for warm-up: enough for any server, and never more than
// this share of memory_mb, of which it is a part.
constexpr double kMaxWarmupBytes = 64 * kBytesPerMib;
constexpr double kMaxWarmupShare = 1.0 / 8;

double MemoryBytes(const config::v1::TrainOptions& options) {
  return static_cast<double>(options.memory_mb()) * kBytesPerMib;
}

double WarmupBytes(const config::v1::TrainOptions& options) {
  if (options.warmup_queries() == 0) return 0;
  return std::min(kMaxWarmupBytes, kMaxWarmupShare * MemoryBytes(options));
}

struct HeldTuple {
  BanditTuple tuple;
  double subsample = 0;  // Kept while below the threshold.
  double split = 0;
  bool evaluates = true;  // May validate or test.
};

class Reader {
 public:
  Reader(const config::v1::TrainOptions& options, const TupleFilter& filter,
         std::set<uint64_t> versions)
      : options_(options), filter_(filter), versions_(std::move(versions)) {}

  absl::Status AddTuple(const log::v1::BanditTuple& logged) {
    ++data_.read_tuples;
    const log::v1::Decision& decision = logged.decision();
    absl::string_view reason = FilterReason(decision);
    HeldTuple held;
    if (reason.empty()) {
      const TupleExpectation expectation{
          .action_kind = filter_.action_kind.value_or(
              ActionKindOf(decision).value_or(ActionKind::kSelect)),
          .num_features =
              filter_.num_features.value_or(decision.num_features()),
          .can_abstain = filter_.can_abstain.value_or(true),
          .reward_min = options_.reward_min(),
          .reward_max = options_.reward_max()};
      ASSIGN_OR_RETURN(reason, ConvertTuple(logged, expectation, &held.tuple));
    }
    if (!reason.empty()) {
      ++data_.excluded[std::string(reason)];
      return absl::OkStatus();
    }
    if (!held.tuple.action_shown) ++data_.shown_otherwise;
    // Converted: the kind is known.
    filter_.action_kind = ActionKindOf(decision);
    filter_.num_features = decision.num_features();
    data_.action_kind = *filter_.action_kind;
    data_.num_features = *filter_.num_features;
    data_.can_abstain |= filter_.can_abstain.value_or(decision.can_abstain()) &&
                         data_.action_kind == ActionKind::kSelect;
    data_.newest_version = std::max(data_.newest_version, decision.version());
    Hold(decision, std::move(held));
    return absl::OkStatus();
  }

  TupleData Finish(const SegmentDamage& damage) {
    data_.damage = damage;
    data_.kept_fraction = keep_;
    if (options_.force()) EvaluateAllIfTooFew();
    for (HeldTuple& held : held_) {
      PartOf(held)->push_back(std::move(held.tuple));
    }
    held_.clear();
    for (auto& [hash, decision] : warmup_) {
      data_.warmup.push_back(std::move(decision));
    }
    return std::move(data_);
  }

 private:
  std::vector<BanditTuple>* PartOf(const HeldTuple& held) {
    if (!held.evaluates) return &data_.train;
    if (held.split < options_.test_fraction()) return &data_.test;
    return held.split <
                   options_.test_fraction() + options_.validation_fraction()
               ? &data_.validation
               : &data_.train;
  }

  void EvaluateAllIfTooFew() {
    size_t validation = 0;
    size_t test = 0;
    for (const HeldTuple& held : held_) {
      const std::vector<BanditTuple>* part = PartOf(held);
      if (part == &data_.validation) ++validation;
      if (part == &data_.test) ++test;
    }
    if (std::min(validation, test) >= kFewestTuples) return;
    for (HeldTuple& held : held_) {
      data_.evaluates_baseline &= held.evaluates;
      held.evaluates = true;
    }
  }

  // Why a tuple is of no concern before its contents are looked at; else empty.
  absl::string_view FilterReason(const log::v1::Decision& decision) const {
    if (decision.model() != options_.model()) return kOtherModel;
    if (!versions_.empty() && versions_.count(decision.version()) == 0) {
      return kOtherVersion;
    }
    return {};
  }

  void Hold(const log::v1::Decision& decision, HeldTuple held) {
    const std::string& id = decision.decision_id();
    held.subsample = UnitInterval(StableHash(HashDomain::kSubsample, {id}));
    held.split = UnitInterval(StableHash(HashDomain::kSplit, {id}));
    held.evaluates = decision.version() == filter_.baseline_version.value_or(
                                               decision.version()) &&
                     decision.version() >= filter_.evaluate_from_version;
    KeepForWarmup(held.subsample, decision);
    if (held.subsample >= keep_) return;
    bytes_ += Bytes(held);
    held_.push_back(std::move(held));
    // Reserved in full: what is kept must not depend on the order.
    const double limit = MemoryBytes(options_) - WarmupBytes(options_);
    while (static_cast<double>(bytes_) > limit) HalveSample();
  }

  static size_t Bytes(const HeldTuple& held) {
    return held.tuple.bytes() + sizeof(HeldTuple) - sizeof(BanditTuple);
  }

  void HalveSample() {
    keep_ /= 2;
    std::erase_if(held_, [this](const HeldTuple& held) {
      return held.subsample >= keep_;
    });
    bytes_ = 0;
    for (const HeldTuple& held : held_) bytes_ += Bytes(held);
    LogWarning("tuples exceed memory_mb: a sample of them is kept",
               {{"memory_mb", absl::StrCat(options_.memory_mb())},
                {"kept_fraction", absl::StrCat(keep_)}});
  }

  // Those of smallest hash, as many as there is room for.
  void KeepForWarmup(double hash, const log::v1::Decision& decision) {
    if (hash >= warmup_end_) return;
    const auto [place, inserted] = warmup_.emplace(hash, decision);
    if (inserted) warmup_bytes_ += place->second.SpaceUsedLong();
    while (warmup_.size() > options_.warmup_queries() ||
           static_cast<double>(warmup_bytes_) > WarmupBytes(options_)) {
      // None behind the first without room, whatever the order.
      const auto last = std::prev(warmup_.end());
      warmup_end_ = last->first;
      warmup_bytes_ -= last->second.SpaceUsedLong();
      warmup_.erase(last);
    }
  }

  const config::v1::TrainOptions& options_;
  TupleFilter filter_;
  const std::set<uint64_t> versions_;
  TupleData data_;
  std::vector<HeldTuple> held_;
  size_t bytes_ = 0;
  double keep_ = 1;
  std::map<double, log::v1::Decision> warmup_;  // By hash, below warmup_end_.
  double warmup_end_ = 1;
  size_t warmup_bytes_ = 0;
};

}  // namespace

uint64_t TupleData::impossible(const std::vector<BanditTuple>& part) const {
  const auto abstained = excluded.find(std::string(kAbstained));
  if (abstained == excluded.end()) return 0;
  // The baseline, which alone validates and tests, cannot abstain either.
  double share = &part == &train ? 1 : 0;
  if (!evaluates_baseline) {
    share = static_cast<double>(part.size()) /
            static_cast<double>(train.size() + validation.size() + test.size());
  }
  return static_cast<uint64_t>(std::llround(
      share * kept_fraction * static_cast<double>(abstained->second)));
}

absl::StatusOr<TupleData> ReadTuples(const config::v1::TrainOptions& options,
                                     const TupleFilter& filter) {
  ASSIGN_OR_RETURN(auto versions, ParseVersions(options.versions()));
  Reader reader(options, filter, std::move(versions));
  SegmentDamage damage;
  RETURN_IF_ERROR(ScanTuples(
      options.tuples(),
      [&](const log::v1::BanditTuple& tuple) { return reader.AddTuple(tuple); },
      &damage));
  return reader.Finish(damage);
}

}  // namespace sortition
