#include "trainer/tuples/labels/label_reader.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "trainer/tuples/labels/label_record.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/thinning.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {
namespace {

// Memory of a context in addition to its values: hash, place, offset, table
// entry.
constexpr size_t kContextBytes = 96;
// Memory of a tuple in addition to its labels.
constexpr size_t kTupleBytes = 24;
constexpr uint32_t kGone = UINT32_MAX;

// Returns a number in [0, 1), independent between domains.
double Share(HashDomain domain, const Hash128& context) {
  const std::array<uint64_t, 2> words = {context.low, context.high};
  return UnitInterval(StableHash(domain, {BytesOf(words)}));
}

// Appends tuple `i` of `from`, whose context has the new place `context`.
void Append(const LabelTuples& from, size_t i, size_t num_labels,
            uint32_t context, LabelTuples* to) {
  const auto labels =
      from.labels.begin() + static_cast<ptrdiff_t>(i * num_labels);
  to->labels.insert(to->labels.end(), labels,
                    labels + static_cast<ptrdiff_t>(num_labels));
  to->contexts.push_back(context);
  to->log_propensities.push_back(from.log_propensities[i]);
  to->losses.push_back(from.losses[i]);
}

class LabelReader {
 public:
  LabelReader(const config::v1::TrainOptions& options,
              const LabelFilter& filter, const TupleLog& log,
              const TupleSelection& selection, Thinning* thinning)
      : options_(options),
        log_(log),
        filter_(filter),
        selection_(selection),
        thinning_(*thinning),
        kept_(options.memory_mb()) {}

  // Takes the number of features from the newest tuple, unless the filter says
  // it.
  absl::Status SetShape() {
    if (filter_.num_features.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(
        filter_.num_features,
        NewestNumFeatures(log_, [&](const log::v1::BanditTuple& logged) {
          const auto reason = Convert(logged);
          return reason.ok() && !*reason;
        }));
    return absl::OkStatus();
  }

  absl::Status Read() {
    return ScanTuples(log_, std::bind_front(&LabelReader::AddTuple, this),
                      &data_);
  }

  LabelData Finish() {
    data_.baseline_version = filter_.baseline_version.value_or(0);
    data_.kept_fraction = kept_.fraction();
    if (options_.force()) EvaluateAllIfTooFew();
    for (size_t i = 0; i < held_.size(); ++i) {
      const Part part = PartOf(i);
      if (part == Part::kTrain || evaluates_[i]) {
        Append(held_, i, num_labels(), held_.contexts[i], TuplesOf(part));
      } else {
        data_.LeaveOut(LeftOutReason::kHeldOut);
      }
    }
    held_ = {};
    return std::move(data_);
  }

 private:
  absl::Status AddTuple(const log::v1::BanditTuple& logged) {
    ++data_.read_tuples;
    const log::v1::Decision& decision = logged.decision();
    std::optional<LeftOutReason> reason = selection_.ReasonToSkip(decision);
    if (!reason.has_value()) {
      ASSIGN_OR_RETURN(reason, thinning_.ReasonToSkip(logged));
    }
    if (!reason.has_value()) {
      ASSIGN_OR_RETURN(reason, Convert(logged));
    }
    if (!reason.has_value() || *reason == LeftOutReason::kCensored) {
      data_.censored_share.Add(logged);
    }
    if (reason.has_value()) {
      data_.LeaveOut(*reason, logged);
      return absl::OkStatus();
    }
    data_.TakeReward(logged);
    filter_.num_features = data_.contexts.num_features =
        decision.num_features();
    filter_.num_labels = data_.contexts.num_labels = decision.num_labels();
    data_.newest_version = std::max(data_.newest_version, decision.version());
    Hold(decision.version() ==
         filter_.baseline_version.value_or(decision.version()));
    return absl::OkStatus();
  }

  // Converts a tuple to `record_`, or returns why it is left out.
  absl::StatusOr<std::optional<LeftOutReason>> Convert(
      const log::v1::BanditTuple& logged) {
    const log::v1::Decision& decision = logged.decision();
    const auto reason = selection_.ReasonToSkip(decision);
    if (reason.has_value()) return reason;
    const LabelExpectation expectation{
        .num_features = filter_.num_features.value_or(decision.num_features()),
        .num_labels = filter_.num_labels.value_or(decision.num_labels()),
        .rewards = RewardRange::Of(options_)};
    ASSIGN_OR_RETURN(const auto unusable,
                     ConvertLabelTuple(logged, expectation, &record_));
    if (unusable.has_value()) return unusable;
    return CensoredReason(logged);
  }

  size_t num_labels() const { return data_.contexts.num_labels; }

  // Returns the part that has the context of tuple `i`.
  Part PartOf(size_t i) const {
    return selection_.PartOf(
        Share(HashDomain::kSplit, hashes_[held_.contexts[i]]));
  }

  LabelTuples* TuplesOf(Part part) {
    return part == Part::kTrain        ? &data_.train
           : part == Part::kValidation ? &data_.validation
                                       : &data_.test;
  }

  void EvaluateAllIfTooFew() {
    PartSizes sizes;
    for (size_t i = 0; i < held_.size(); ++i) {
      if (evaluates_[i]) sizes.Add(PartOf(i));
    }
    if (sizes.can_evaluate()) return;
    for (std::vector<bool>::reference evaluates : evaluates_) {
      data_.evaluates_baseline &= evaluates;
      evaluates = true;
    }
  }

  // Holds the record that was converted last.
  void Hold(bool evaluates) {
    const Hash128 hash = record_.ContextHash();
    if (!kept_.Keeps(Share(HashDomain::kSubsample, hash))) return;
    LabelContexts& contexts = data_.contexts;
    const auto [place, is_new] =
        place_of_.try_emplace(hash, static_cast<uint32_t>(contexts.size()));
    if (is_new) {
      hashes_.push_back(hash);
      contexts.columns.insert(contexts.columns.end(), record_.columns.begin(),
                              record_.columns.end());
      contexts.values.insert(contexts.values.end(), record_.values.begin(),
                             record_.values.end());
      contexts.row_offsets.push_back(contexts.values.size());
    }
    held_.contexts.push_back(place->second);
    held_.labels.insert(held_.labels.end(), record_.labels.begin(),
                        record_.labels.end());
    held_.log_propensities.push_back(record_.log_propensity);
    held_.losses.push_back(record_.loss);
    evaluates_.push_back(evaluates);
    const double limit =
        static_cast<double>(options_.memory_mb()) * 1024.0 * 1024.0;
    while (static_cast<double>(Bytes()) > limit) HalveSample();
  }

  size_t Bytes() const {
    const LabelContexts& contexts = data_.contexts;
    return contexts.size() * kContextBytes +
           contexts.values.size() * (sizeof(float) + sizeof(uint32_t)) +
           held_.size() * (kTupleBytes + num_labels());
  }

  void HalveSample() {
    kept_.Halve(kTuplesExceedMemory);
    const std::vector<uint32_t> moved = DropContexts();
    const LabelTuples all = std::exchange(held_, {});
    const std::vector<bool> all_evaluate = std::exchange(evaluates_, {});
    for (size_t i = 0; i < all.size(); ++i) {
      const uint32_t context = moved[all.contexts[i]];
      if (context == kGone) continue;
      Append(all, i, num_labels(), context, &held_);
      evaluates_.push_back(all_evaluate[i]);
    }
  }

  // Drops contexts that are no longer in the sample. Returns the new place of
  // each, or kGone.
  std::vector<uint32_t> DropContexts() {
    const LabelContexts all = std::exchange(data_.contexts, {});
    const std::vector<Hash128> all_hashes = std::exchange(hashes_, {});
    LabelContexts& kept = data_.contexts;
    kept.num_features = all.num_features;
    kept.num_labels = all.num_labels;
    place_of_.clear();
    std::vector<uint32_t> moved(all.size(), kGone);
    for (size_t row = 0; row < all.size(); ++row) {
      if (!kept_.Keeps(Share(HashDomain::kSubsample, all_hashes[row]))) {
        continue;
      }
      moved[row] = static_cast<uint32_t>(kept.size());
      place_of_[all_hashes[row]] = moved[row];
      hashes_.push_back(all_hashes[row]);
      const auto begin = static_cast<ptrdiff_t>(all.row_offsets[row]);
      const auto end = static_cast<ptrdiff_t>(all.row_offsets[row + 1]);
      kept.columns.insert(kept.columns.end(), all.columns.begin() + begin,
                          all.columns.begin() + end);
      kept.values.insert(kept.values.end(), all.values.begin() + begin,
                         all.values.begin() + end);
      kept.row_offsets.push_back(kept.values.size());
    }
    return moved;
  }

  const config::v1::TrainOptions& options_;
  const TupleLog& log_;
  LabelFilter filter_;
  const TupleSelection& selection_;
  Thinning& thinning_;
  KeptShare kept_;
  LabelData data_;
  absl::flat_hash_map<Hash128, uint32_t, Hash128Hasher> place_of_;
  std::vector<Hash128> hashes_;  // One for each of data_.contexts.
  LabelTuples held_;
  std::vector<bool> evaluates_;  // May validate or test; as many as tuples.
  LabelRecord record_;
};

}  // namespace

absl::StatusOr<LabelData> ReadLabelTuples(
    const config::v1::TrainOptions& options, const LabelFilter& filter) {
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  ASSIGN_OR_RETURN(LabelData data,
                   ReadThinned<LabelData>(
                       [&](Thinning* thinning) -> absl::StatusOr<LabelData> {
                         LabelReader reader(options, filter, log, selection,
                                            thinning);
                         RETURN_IF_ERROR(reader.SetShape());
                         RETURN_IF_ERROR(reader.Read());
                         return reader.Finish();
                       }));
  RETURN_IF_ERROR(CheckRewards(data, RewardRange::Of(options)));
  WarnOfCensoring(data);
  return data;
}

}  // namespace sortition
