#include "trainer/tuples/tuple_reader.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/features/schema/column_checks.h"
#include "core/features/schema/column_presence.h"
#include "core/policies/distribution_factory.h"
#include "io/segments/decision_view.h"
#include "process/log.h"
#include "trainer/decision_files/guarded_rewards.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/scan/time_range.h"
#include "trainer/tuples/thinning.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_selection.h"
#include "trainer/tuples/warmup_sample.h"

namespace sortition {
namespace {

// What is read, and how.
struct ReadPlan {
  const TupleLog& log;
  const TupleSelection& selection;
  Overrides overrides;
  RankUse ranks;
  const GuardedRewards& guarded;
  const RankOutcomes& outcomes;
};

class Reader {
 public:
  Reader(const config::v1::TrainOptions& options, const TupleFilter& filter,
         const ReadPlan& plan, Thinning* thinning)
      : options_(options),
        filter_(filter),
        log_(plan.log),
        selection_(plan.selection),
        overrides_(plan.overrides),
        ranks_(plan.ranks),
        outcomes_(plan.outcomes),
        guarded_(plan.guarded),
        thinning_(*thinning),
        parts_(plan.selection),
        limits_(HeldTuples::Limits::Of(options)),
        held_(limits_),
        warmup_(options.warmup_queries(), limits_.warmup_bytes) {}

  // Without a version in the store, the baseline is version 0, the uniform
  // policy. Aggregate logs version 0, too, under any name.
  absl::Status SetBaseline() {
    if (filter_.baseline_version != uint64_t{0} &&
        !filter_.baseline_is_of_log) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(leaves_out_aggregations_,
                     HasMoreThanAggregations(log_, selection_));
    return absl::OkStatus();
  }

  // Takes the number of features from the newest tuple, unless it is given.
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
    RETURN_IF_ERROR(
        ScanTuples(log_, std::bind_front(&Reader::AddTuple, this), &data_));
    return guarded_.CheckFound();
  }

  TupleData Finish() {
    data_.kept_fraction = held_.kept_fraction();
    data_.spill = held_.TakeSpill();
    data_.subset_size = MostFrequentSize();
    if (data_.spill != nullptr) NoteSpill(data_.spill->file());
    SetBaselineOfLog();
    SetTimes();
    data_.arrivals = CountArrivals();
    newest_.WarnOfFuture();
    if (options_.force()) EvaluateAllIfTooFew();
    const PartSizes sizes = Sizes();
    data_.train.reserve(sizes.train);
    data_.validation.reserve(sizes.validation);
    data_.test.reserve(sizes.test);
    if (outcomes_.needs().ranks) {
      data_.train_ranks.reserve(sizes.train);
      data_.validation_ranks.reserve(sizes.validation);
    }
    if (outcomes_.needs().exposures) data_.train_exposed.reserve(sizes.train);
    data_.guarded = guarded_.Start();
    for (; !held_.tuples().empty(); held_.tuples().pop_front()) {
      HeldTuple& held = held_.tuples().front();
      Part part = Part::kTrain;
      if (const auto reason = parts_.Place(held.place, &part)) {
        data_.LeaveOut(*reason);
        continue;
      }
      if (part == Part::kTrain) TakeForTraining(&held);
      if (part == Part::kValidation && outcomes_.needs().ranks) {
        CHECK(held.outcome != nullptr);
        data_.validation_ranks.push_back(std::move(held.outcome->ranks));
      }
      CountPart(part, held.place);
      TuplesOf(part)->push_back(std::move(held.tuple));
      if (part == Part::kTest) guarded_.Take(held.place, &data_.guarded);
    }
    TakeAbstained();
    data_.warmup = warmup_.Take();
    if (presence_.has_value()) {
      data_.absent_columns = presence_->Counts();
      data_.tuples_with_columns = presence_->num_queries();
      if (!data_.absent_columns.empty()) {
        LogWarning("tuples lack columns, which count as missing",
                   {{"columns", presence_->AbsentText()}});
      }
    }
    return std::move(data_);
  }

 private:
  absl::Status AddTuple(const log::v1::BanditTuple& logged) {
    ++data_.read_tuples;
    const log::v1::Decision& decision = logged.decision();
    guarded_.NoteInLog(decision.decision_id());
    BanditTuple tuple;
    std::optional<LeftOutReason> reason = selection_.ReasonToSkip(decision);
    if (!reason.has_value()) {
      NoteColumns(decision);
      ASSIGN_OR_RETURN(reason, thinning_.ReasonToSkip(logged));
    }
    if (!reason.has_value()) reason = Convert(logged, &tuple);
    if (!reason.has_value() || *reason == LeftOutReason::kCensored) {
      data_.censored_share.Add(logged);
    }
    if (reason == LeftOutReason::kAbstained) {
      return HoldAbstained(logged, tuple.action_shown);
    }
    if (reason.has_value()) {
      data_.LeaveOut(*reason, logged);
      return absl::OkStatus();
    }
    if (const auto* const outside = outcomes_.FindOutside(logged)) {
      data_.LeaveOut(LeftOutReason::kRewardOutside, logged, outside);
      return absl::OkStatus();
    }
    data_.TakeReward(logged);
    Note(logged, tuple);
    tuple.unit = UnitKey(decision.unit_id(), decision.decision_id());
    const TuplePlace place = PlaceOf(decision);
    warmup_.Add(place.subsample, decision);
    guarded_.Note(place, decision, tuple.action_shown);
    HeldTuple held{std::move(tuple), place, nullptr};
    // Which tuples evaluate may be known at the end of the log only.
    if (outcomes_.are_needed() &&
        (filter_.baseline_is_of_log || parts_.MayTrainOrValidate(place))) {
      ASSIGN_OR_RETURN(held.outcome, outcomes_.Read(logged, held.tuple));
    }
    return held_.Add(std::move(held));
  }

  // Notes columns that features are not made of.
  void NoteColumns(const log::v1::Decision& decision) {
    const FeatureTransform* const transform =
        filter_.features == nullptr ? nullptr : filter_.features->transform();
    for (const auto* const columns :
         {&decision.columns().query(), &decision.columns().candidate()}) {
      for (const v1::Column& column : *columns) {
        if ((transform == nullptr ||
             !transform->schema().Find(column.name()).has_value()) &&
            data_.unread_columns.size() < Schema::kMostColumns) {
          data_.unread_columns.try_emplace(column.name(),
                                           TypeName(TypeOf(column)));
        }
      }
    }
  }

  // Fills in what only training tuples have.
  void TakeForTraining(HeldTuple* held) {
    held->tuple.recency =
        selection_.RecencyOf(newest_.us() - held->place.time_us);
    if (held->outcome == nullptr) return;
    data_.with_rank_rewards += held->outcome->has_rewards;
    data_.orders_as_one += held->outcome->is_one;
    if (outcomes_.needs().ranks) {
      data_.train_ranks.push_back(std::move(held->outcome->ranks));
    }
    if (outcomes_.needs().exposures) {
      data_.train_exposed.push_back(std::move(held->outcome->exposed));
    }
  }

  // Converts a tuple, or returns why it is left out.
  std::optional<LeftOutReason> Convert(const log::v1::BanditTuple& logged,
                                       BanditTuple* tuple) const {
    const log::v1::Decision& decision = logged.decision();
    if (const auto reason = selection_.ReasonToSkip(decision)) return reason;
    if (leaves_out_aggregations_ && decision.has_aggregation()) {
      return LeftOutReason::kAggregated;
    }
    const TupleExpectation expectation{
        .action_kind = filter_.action_kind.value_or(
            ActionKindOf(decision).value_or(ActionKind::kSelect)),
        .num_features = filter_.num_features.value_or(decision.num_features()),
        .can_abstain = filter_.can_abstain.value_or(true),
        .fixed_size = filter_.fixed_size.value_or(SubsetSize(decision) > 0),
        .rewards = RewardRange::Of(options_),
        .overrides = overrides_,
        .ranks = ranks_,
        .features = filter_.features.get(),
        .scratch = &feature_scratch_};
    const auto unusable = ConvertTuple(logged, expectation, tuple);
    constexpr auto kAbstained = LeftOutReason::kAbstained;
    if (unusable.value_or(kAbstained) != kAbstained) return unusable;
    if (const auto censored = CensoredReason(logged)) return censored;
    return unusable;
  }

  // Records what a converted tuple says about the log.
  void Note(const log::v1::BanditTuple& logged, const BanditTuple& tuple) {
    const log::v1::Decision& decision = logged.decision();
    filter_.action_kind = ActionKindOf(decision);
    filter_.num_features = decision.num_features();
    data_.action_kind = *filter_.action_kind;
    data_.num_features = filter_.NumWeighed(decision.num_features());
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
    if (decision.has_columns()) NoteColumns(decision.columns());
    newest_.Add(decision.time_us());
    data_.overridden.Add(logged);
    data_.TakeOrder(decision, tuple.action.size());
    data_.ranks = RankUseText(ranks_);
    if (decision.has_baseline()) data_.certain_baseline += IsCertain(decision);
    if (!tuple.full_support) {
      ++data_.without_full_support[absl::StrCat(
          "version ", decision.version(), ", ",
          IsOfBaseline(decision) ? std::string(kBaselinePolicy)
                                 : PolicyKindName(decision.policy()))];
    }
  }

  void NoteColumns(const v1::Columns& columns) {
    if (!presence_.has_value()) {
      presence_.emplace(filter_.features->transform()->schema());
    }
    presence_->Add(columns);
  }

  // Returns 0 if there are no subsets; ties go to the smaller size.
  uint32_t MostFrequentSize() const {
    const auto most = std::max_element(
        sizes_.begin(), sizes_.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == sizes_.end() ? 0 : most->first;
  }

  template <typename Visit>
  void VisitPlaces(const Visit& visit) {
    for (HeldTuple& held : held_.tuples()) visit(held.place);
    for (HeldAbstention& held : held_.abstentions()) visit(held.place);
  }

  void SetBaselineOfLog() {
    data_.baseline_version = filter_.baseline_version.value_or(0);
    if (!filter_.baseline_is_of_log) return;
    data_.baseline_version = data_.newest_version;
    VisitPlaces([this](TuplePlace& place) {
      place.evaluates =
          place.version == data_.newest_version && !place.is_interleaved;
    });
  }

  void SetTimes() {
    if (!selection_.by_time()) return;
    std::vector<int64_t> times_us;
    VisitPlaces([&](const TuplePlace& place) {
      if (place.evaluates) times_us.push_back(place.time_us);
    });
    parts_.SetTimes(std::move(times_us));
  }

  Arrivals CountArrivals() {
    ArrivalCounter counter;
    for (const HeldTuple& held : held_.tuples()) {
      counter.Add(held.tuple.unit, held.place.time_us);
    }
    for (const HeldAbstention& held : held_.abstentions()) {
      counter.Add(held.tuple.unit, held.place.time_us);
    }
    Arrivals arrivals = counter.Finish();
    arrivals.reward_wait_seconds = log_.reward_wait_seconds();
    return arrivals;
  }

  std::vector<BanditTuple>* TuplesOf(Part part) {
    return part == Part::kTrain        ? &data_.train
           : part == Part::kValidation ? &data_.validation
                                       : &data_.test;
  }

  PartSizes Sizes() {
    PartSizes sizes;
    for (const HeldTuple& held : held_.tuples()) {
      Part part = Part::kTrain;
      if (!parts_.Place(held.place, &part)) sizes.Add(part);
    }
    return sizes;
  }

  void NoteSpill(const ScratchFile& file) {
    data_.spilled_bytes = file.bytes();
    data_.scratch = file.dir();
    LogInfo("features in a scratch file",
            {{"scratch", file.dir()}, {"bytes", file.bytes()}});
  }

  void EvaluateAllIfTooFew() {
    if (Sizes().can_evaluate()) return;
    VisitPlaces([this](TuplePlace& place) {
      data_.evaluates_baseline &= place.evaluates;
      place.evaluates = true;
    });
    SetTimes();
  }

  void TakeAbstained() {
    for (const HeldAbstention& held : held_.abstentions()) {
      Part part = Part::kTrain;
      if (parts_.Place(held.place, &part) || part == Part::kTrain) {
        data_.LeaveOut(LeftOutReason::kAbstained);
        continue;
      }
      CountPart(part, held.place);
      if (part == Part::kValidation) {
        data_.abstained_validation.push_back(held.tuple);
      } else {
        data_.abstained_test.push_back(held.tuple);
        guarded_.Take(held.place, &data_.guarded);
      }
    }
  }

  void CountPart(Part part, const TuplePlace& place) {
    data_.judged_with_baseline += part != Part::kTrain && place.with_baseline;
    if (part == Part::kTest) data_.test_times_us.push_back(place.time_us);
  }

  TuplePlace PlaceOf(const log::v1::Decision& decision) const {
    TuplePlace place = PlaceInLog(decision);
    const uint64_t baseline = filter_.baseline_version.value_or(place.version);
    place.evaluates = place.version == baseline &&
                      !(filter_.baseline_version && place.is_interleaved) &&
                      place.version >= filter_.evaluate_from_version;
    return place;
  }

  absl::Status HoldAbstained(const log::v1::BanditTuple& logged,
                             bool action_shown) {
    const std::optional<double> loss =
        RewardRange::Of(options_).LossOf(logged.reward());
    if (!loss.has_value()) {
      data_.LeaveOut(LeftOutReason::kRewardOutside, logged);
      return absl::OkStatus();
    }
    data_.TakeReward(logged);
    const log::v1::Decision& decision = logged.decision();
    const TuplePlace place = PlaceOf(decision);
    guarded_.Note(place, decision, action_shown);
    return held_.Add(HeldAbstention{
        {.log_propensity = std::min(decision.log_propensity(), 0.0),
         .loss = *loss,
         .unit = UnitKey(decision.unit_id(), decision.decision_id())},
        place});
  }

  const config::v1::TrainOptions& options_;
  TupleFilter filter_;
  const TupleLog& log_;
  const TupleSelection& selection_;
  const Overrides overrides_;
  const RankUse ranks_;
  const RankOutcomes& outcomes_;
  GuardedTuples guarded_;
  Thinning& thinning_;
  TupleParts parts_;
  mutable ModelFeatureScratch feature_scratch_;
  bool leaves_out_aggregations_ = false;
  TupleData data_;
  const HeldTuples::Limits limits_;
  HeldTuples held_;
  NewestTime newest_;
  std::map<uint32_t, uint64_t> sizes_;  // From size of subsets to count.
  WarmupSample warmup_;
  std::optional<ColumnPresence> presence_;  // Unset: no tuple has columns.
};

}  // namespace

absl::StatusOr<TupleData> ReadTuples(const config::v1::TrainOptions& options,
                                     const TupleFilter& filter) {
  ASSIGN_OR_RETURN(const Overrides overrides,
                   ParseOverrides(options.overrides()));
  ASSIGN_OR_RETURN(const RankUse ranks,
                   ParseRankUse(options.ranks(), options.rewards_size() > 0));
  ASSIGN_OR_RETURN(const GuardedRewards guarded,
                   GuardedRewards::Read(options.rewards(), options.guardrails(),
                                        options.reward_ranges()));
  ASSIGN_OR_RETURN(
      const RankOutcomes outcomes,
      RankOutcomes::Create(options, overrides, ranks, filter.rank_marginals));
  RETURN_IF_ERROR(HeldTuples::Limits::CheckScratch(options));
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .scratch = options.scratch()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  const ReadPlan plan{log, selection, overrides, ranks, guarded, outcomes};
  ASSIGN_OR_RETURN(TupleData data,
                   ReadThinned<TupleData>(
                       [&](Thinning* thinning) -> absl::StatusOr<TupleData> {
                         Reader reader(options, filter, plan, thinning);
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
