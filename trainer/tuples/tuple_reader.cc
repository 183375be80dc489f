#include "trainer/tuples/tuple_reader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/segments/decision_view.h"
#include "process/log.h"
#include "trainer/tuples/held_tuples.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/thinning.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

// Memory for the queries kept for warm-up: enough for any server, and never
// more than this share of memory_mb, which it counts towards. It is reserved in
// full, because what is kept must not depend on the order.
constexpr double kMaxWarmupBytes = 64 * kBytesPerMib;
constexpr double kMaxWarmupShare = 1.0 / 8;

double MemoryBytes(const config::v1::TrainOptions& options) {
  return static_cast<double>(options.memory_mb()) * kBytesPerMib;
}

double WarmupBytes(const config::v1::TrainOptions& options) {
  if (options.warmup_queries() == 0) return 0;
  return std::min(kMaxWarmupBytes, kMaxWarmupShare * MemoryBytes(options));
}

// The share of memory_mb for tuples. The rest is for the process itself and for
// what training keeps beside every tuple. Without a scratch file, tuples get
// all of memory_mb.
constexpr double kMaxTupleShare = 7.0 / 8;

HeldTuples::Limits LimitsOf(const config::v1::TrainOptions& options) {
  const double share = options.scratch_mb() > 0 ? kMaxTupleShare : 1;
  return {.memory_bytes = static_cast<uint64_t>(share * MemoryBytes(options) -
                                                WarmupBytes(options)),
          .memory_mb = options.memory_mb(),
          .scratch = options.scratch(),
          .scratch_bytes = options.scratch_mb() << 20};
}

// Checks the directory early: it may be needed only after hours of reading.
absl::Status CheckScratch(const config::v1::TrainOptions& options) {
  std::error_code error;
  if (options.scratch().empty() || options.scratch_mb() == 0 ||
      std::filesystem::is_directory(options.scratch(), error)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("scratch is '", options.scratch(),
                                          "', must be a directory"));
}

class Reader {
 public:
  Reader(const config::v1::TrainOptions& options, const TupleFilter& filter,
         const TupleLog& log, const TupleSelection& selection,
         Thinning* thinning)
      : options_(options),
        log_(log),
        filter_(filter),
        selection_(selection),
        thinning_(*thinning),
        held_(LimitsOf(options)) {}

  // Without a version in the store, the baseline is version 0, the uniform
  // policy. Aggregate logs version 0, too, under any name: its decisions are
  // another policy's, with other features. They are used only if nothing else
  // decided under this name.
  absl::Status SetBaseline() {
    if (filter_.baseline_version != uint64_t{0}) return absl::OkStatus();
    ASSIGN_OR_RETURN(leaves_out_aggregations_,
                     HasTuple(log_, [&](const log::v1::BanditTuple& logged) {
                       const auto& decision = logged.decision();
                       return !decision.has_aggregation() &&
                              !selection_.ReasonToSkip(decision);
                     }));
    return absl::OkStatus();
  }

  // Takes the number of features from the newest tuple, unless the filter says
  // it.
  absl::Status SetShape() {
    if (filter_.num_features.has_value()) return absl::OkStatus();
    BanditTuple unused;
    ASSIGN_OR_RETURN(
        filter_.num_features,
        NewestNumFeatures(log_, [&](const log::v1::BanditTuple& logged) {
          return !Convert(logged, &unused);
        }));
    return absl::OkStatus();
  }

  absl::Status Read() {
    return ScanTuples(log_, std::bind_front(&Reader::AddTuple, this), &data_);
  }

  TupleData Finish() {
    data_.kept_fraction = held_.kept_fraction();
    data_.spill = held_.TakeSpill();
    data_.subset_size = MostFrequentSize();
    if (data_.spill != nullptr) NoteSpill(data_.spill->file());
    if (options_.force()) EvaluateAllIfTooFew();
    const PartSizes sizes = Sizes();
    data_.train.reserve(sizes.train);
    data_.validation.reserve(sizes.validation);
    data_.test.reserve(sizes.test);
    for (; !held_.tuples().empty(); held_.tuples().pop_front()) {
      HeldTuple& held = held_.tuples().front();
      // What trains must be of other units than what validates and tests.
      if (held.has_unit && selection_.PartOf(held.split) != PartOf(held)) {
        data_.LeaveOut(LeftOutReason::kHeldOut);
        continue;
      }
      TuplesOf(PartOf(held))->push_back(std::move(held.tuple));
    }
    for (auto& [hash, decision] : warmup_) {
      data_.warmup.push_back(std::move(decision));
    }
    return std::move(data_);
  }

 private:
  absl::Status AddTuple(const log::v1::BanditTuple& logged) {
    ++data_.read_tuples;
    const log::v1::Decision& decision = logged.decision();
    HeldTuple held;
    std::optional<LeftOutReason> reason = selection_.ReasonToSkip(decision);
    if (!reason.has_value()) {
      ASSIGN_OR_RETURN(reason, thinning_.ReasonToSkip(logged));
    }
    if (!reason.has_value()) reason = Convert(logged, &held.tuple);
    if (!reason.has_value() || *reason == LeftOutReason::kCensored) {
      data_.censored_share.Add(logged);
    }
    if (reason.has_value()) {
      data_.LeaveOut(*reason, logged);
      return absl::OkStatus();
    }
    data_.TakeReward(logged);
    Note(decision, held.tuple);
    return Hold(decision, std::move(held));
  }

  // Converts a tuple, or returns why it is left out.
  std::optional<LeftOutReason> Convert(const log::v1::BanditTuple& logged,
                                       BanditTuple* tuple) const {
    const log::v1::Decision& decision = logged.decision();
    const auto reason = selection_.ReasonToSkip(decision);
    if (reason.has_value()) return reason;
    if (leaves_out_aggregations_ && decision.has_aggregation()) {
      return LeftOutReason::kAggregated;
    }
    const TupleExpectation expectation{
        .action_kind = filter_.action_kind.value_or(
            ActionKindOf(decision).value_or(ActionKind::kSelect)),
        .num_features = filter_.num_features.value_or(decision.num_features()),
        .can_abstain = filter_.can_abstain.value_or(true),
        .fixed_size = filter_.fixed_size.value_or(SubsetSize(decision) > 0),
        .rewards = RewardRange::Of(options_)};
    const auto unusable = ConvertTuple(logged, expectation, tuple);
    if (unusable.has_value()) return unusable;
    return CensoredReason(logged);
  }

  // Records what a converted tuple says about the log.
  void Note(const log::v1::Decision& decision, const BanditTuple& tuple) {
    filter_.action_kind = ActionKindOf(decision);
    filter_.num_features = decision.num_features();
    data_.action_kind = *filter_.action_kind;
    data_.num_features = *filter_.num_features;
    data_.can_abstain |= filter_.can_abstain.value_or(decision.can_abstain()) &&
                         data_.action_kind == ActionKind::kSelect;
    if (data_.action_kind == ActionKind::kSubset) {
      filter_.fixed_size = SubsetSize(decision) > 0;
      ++sizes_[SubsetSize(decision)];
    }
    if (decision.version() > data_.newest_version) {
      data_.newest_version = decision.version();
      data_.newest_policy = decision.policy();
    }
    if (!tuple.action_shown) ++data_.shown_otherwise;
    if (!tuple.full_support) {
      ++data_.without_full_support[absl::StrCat(
          "version ", decision.version(), ", ",
          PolicyKindName(decision.policy()))];
    }
  }

  // Returns 0 if there are no subsets; ties go to the smaller size.
  uint32_t MostFrequentSize() const {
    const auto most = std::max_element(
        sizes_.begin(), sizes_.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == sizes_.end() ? 0 : most->first;
  }

  Part PartOf(const HeldTuple& held) const {
    return held.evaluates ? selection_.PartOf(held.split) : Part::kTrain;
  }

  std::vector<BanditTuple>* TuplesOf(Part part) {
    return part == Part::kTrain        ? &data_.train
           : part == Part::kValidation ? &data_.validation
                                       : &data_.test;
  }

  PartSizes Sizes() {
    PartSizes sizes;
    for (const HeldTuple& held : held_.tuples()) sizes.Add(PartOf(held));
    return sizes;
  }

  void NoteSpill(const ScratchFile& file) {
    data_.spilled_bytes = file.bytes();
    data_.scratch = file.dir();
    LogInfo("features in a scratch file",
            {{"scratch", file.dir()}, {"bytes", absl::StrCat(file.bytes())}});
  }

  void EvaluateAllIfTooFew() {
    if (Sizes().can_evaluate()) return;
    for (HeldTuple& held : held_.tuples()) {
      data_.evaluates_baseline &= held.evaluates;
      held.evaluates = true;
    }
  }

  absl::Status Hold(const log::v1::Decision& decision, HeldTuple held) {
    const std::string& id = decision.decision_id();
    held.subsample = UnitInterval(StableHash(HashDomain::kSubsample, {id}));
    held.split = UnitInterval(StableHash(
        HashDomain::kSplit,
        {decision.unit_id().empty() ? id : decision.unit_id()}));
    held.has_unit = !decision.unit_id().empty();
    held.tuple.unit = UnitKey(decision.unit_id(), id);
    held.evaluates = decision.version() == filter_.baseline_version.value_or(
                                               decision.version()) &&
                     decision.version() >= filter_.evaluate_from_version;
    KeepForWarmup(held.subsample, decision);
    return held_.Add(std::move(held));
  }

  // Keeps the queries with the smallest hashes, as many as there is room for.
  void KeepForWarmup(double hash, const log::v1::Decision& decision) {
    if (hash >= warmup_end_) return;
    const auto [place, inserted] = warmup_.emplace(hash, decision);
    if (inserted) warmup_bytes_ += place->second.SpaceUsedLong();
    while (warmup_.size() > options_.warmup_queries() ||
           static_cast<double>(warmup_bytes_) > WarmupBytes(options_)) {
      // From now on keeps nothing beyond this hash, so that the order of the
      // tuples does not matter.
      const auto last = std::prev(warmup_.end());
      warmup_end_ = last->first;
      warmup_bytes_ -= last->second.SpaceUsedLong();
      warmup_.erase(last);
    }
  }

  const config::v1::TrainOptions& options_;
  const TupleLog& log_;
  TupleFilter filter_;
  const TupleSelection& selection_;
  Thinning& thinning_;
  bool leaves_out_aggregations_ = false;
  TupleData data_;
  HeldTuples held_;
  std::map<uint32_t, uint64_t> sizes_;  // From size of subsets to count.
  std::map<double, log::v1::Decision> warmup_;  // By hash, below warmup_end_.
  double warmup_end_ = 1;
  size_t warmup_bytes_ = 0;
};

}  // namespace

uint64_t TupleData::impossible(const std::vector<BanditTuple>& part) const {
  const uint64_t abstained = left_out(LeftOutReason::kAbstained);
  if (abstained == 0) return 0;
  // Only the baseline validates and tests, and its tuples cannot abstain
  // either.
  double share = &part == &train ? 1 : 0;
  if (!evaluates_baseline) {
    share = static_cast<double>(part.size()) /
            static_cast<double>(train.size() + validation.size() + test.size());
  }
  return static_cast<uint64_t>(
      std::llround(share * kept_fraction * static_cast<double>(abstained)));
}

absl::StatusOr<TupleData> ReadTuples(const config::v1::TrainOptions& options,
                                     const TupleFilter& filter) {
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options));
  RETURN_IF_ERROR(CheckScratch(options));
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete()}));
  ASSIGN_OR_RETURN(TupleData data,
                   ReadThinned<TupleData>(
                       [&](Thinning* thinning) -> absl::StatusOr<TupleData> {
                         Reader reader(options, filter, log, selection,
                                       thinning);
                         RETURN_IF_ERROR(reader.SetBaseline());
                         RETURN_IF_ERROR(reader.SetShape());
                         RETURN_IF_ERROR(reader.Read());
                         return reader.Finish();
                       }));
  RETURN_IF_ERROR(CheckRewards(data, RewardRange::Of(options)));
  WarnOfCensoring(data);
  return data;
}

}  // namespace sortition
