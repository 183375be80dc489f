#include "trainer/cluster/cluster_data.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "trainer/cluster/cluster_decision.h"
#include "trainer/tuples/thinning.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {
namespace {

constexpr uint64_t kBytesPerMib = 1024 * 1024;
// Memory for each key that is counted.
constexpr uint64_t kCensusEntryBytes = 128;
// Memory in addition to the scores. By column, if sources are grouped: the
// mean, subgradient and order of a group, both now and at best. By row: costs
// and a line of the assignments.
constexpr uint64_t kGroupBytesPerItem = 44;
constexpr uint64_t kRowBytes = 128;
constexpr uint32_t kDefaultMostClusters = 6;

double Subsample(const log::v1::Decision& decision) {
  return UnitInterval(
      StableHash(HashDomain::kSubsample, {decision.decision_id()}));
}

struct HeldDecision {
  ClusterData::DecisionInfo info;
  double subsample = 0;
  std::vector<double> rows;
  std::vector<uint32_t> documents;       // Sources.
  std::vector<CutFunction::Edge> pairs;  // Sources.
};

class Reader {
 public:
  Reader(const config::v1::ClusterOptions& options, const TupleLog& log,
         ClusterOf of, ScoreScale scale, CandidatePairs* pairs,
         Thinning* thinning)
      : thinning_(*thinning),
        options_(options),
        log_(log),
        of_(of),
        scale_(scale),
        pairs_(pairs),
        memory_bytes_(options.memory_mb() * kBytesPerMib),
        kept_(options.memory_mb()) {
    for (const uint32_t k : options.clusters()) {
      most_clusters_ = std::max<uint64_t>(most_clusters_, k);
    }
    if (options.clusters_size() == 0) most_clusters_ = kDefaultMostClusters;
  }

  absl::StatusOr<ClusterData> Read() {
    RETURN_IF_ERROR(TakeCensus());
    const auto take =
        [this](const log::v1::BanditTuple& tuple) -> absl::Status {
      ASSIGN_OR_RETURN(const std::optional<LeftOutReason> reason, Take(tuple));
      ++data_.counts.read_tuples;
      if (!reason.has_value() || *reason == LeftOutReason::kCensored) {
        data_.counts.censored_share.Add(tuple);
      }
      if (reason.has_value()) data_.counts.LeaveOut(*reason, tuple);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(ScanTuples(log_, take, &data_.counts));
    data_.counts.kept_fraction = kept_.fraction();
    WarnOfCensoring(data_.counts);
    if (held_.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "no decisions of model '", options_.model(),
          "' to group: ", data_.counts.DescribeExclusions(),
          kept_.fraction() < 1 ? ", none kept within memory_mb" : ""));
    }
    return Assemble();
  }

 private:
  // Finds the key that most decisions have; ties go to the one with the most
  // candidates or sources. If the keys exceed memory, counts a sample of the
  // decisions.
  absl::Status TakeCensus() {
    struct Count {
      uint64_t decisions = 0;
      uint64_t size = 0;
    };
    std::map<std::pair<uint64_t, uint64_t>, Count> counts;
    ComparableDecision comparable;
    double share = 1;
    const auto take = [&](const log::v1::BanditTuple& tuple) -> absl::Status {
      const log::v1::Decision& decision = tuple.decision();
      if (decision.model() != options_.model() || tuple.censored_size() > 0 ||
          Subsample(decision) >= share ||
          MakeComparable(decision, of_, NeedsIds(), &comparable).has_value()) {
        return absl::OkStatus();
      }
      Count& count = counts[{comparable.key.high, comparable.key.low}];
      ++count.decisions;
      count.size = of_ == ClusterOf::kSources ? decision.num_features()
                                              : comparable.documents.size();
      return counts.size() * kCensusEntryBytes > memory_bytes_ / 4
                 ? absl::ResourceExhaustedError("")
                 : absl::OkStatus();
    };
    absl::Status status = absl::ResourceExhaustedError("");
    for (; absl::IsResourceExhausted(status); share /= 2) {
      counts.clear();
      TupleCounts ignored;  // They are made when the decisions are read.
      status = ScanTuples(log_, take, &ignored);
    }
    RETURN_IF_ERROR(status);
    std::tuple<uint64_t, uint64_t, uint64_t, uint64_t> most;
    for (const auto& [key, count] : counts) {
      most =
          std::max(most, {count.decisions, count.size, key.first, key.second});
    }
    key_ = {std::get<3>(most), std::get<2>(most)};
    return absl::OkStatus();
  }

  // Takes the decision. Returns why it is left out, or nothing.
  absl::StatusOr<std::optional<LeftOutReason>> Take(
      const log::v1::BanditTuple& tuple) {
    const log::v1::Decision& decision = tuple.decision();
    if (decision.model() != options_.model()) return LeftOutReason::kOtherModel;
    ASSIGN_OR_RETURN(std::optional<LeftOutReason> reason,
                     thinning_.ReasonToSkip(tuple));
    if (reason.has_value()) return reason;
    ComparableDecision comparable;
    reason = MakeComparable(decision, of_, NeedsIds(), &comparable);
    if (reason.has_value()) return reason;
    if (!(comparable.key == key_)) {
      return of_ == ClusterOf::kSources ? LeftOutReason::kOtherSources
                                        : LeftOutReason::kOtherCandidates;
    }
    if (comparable.documents.size() >
        memory_bytes_ / sizeof(double) / comparable.candidates.num_features()) {
      return LeftOutReason::kBeyondMemory;
    }
    HeldDecision held;
    reason = ScaleDecision(decision, comparable, of_, scale_, &held.rows);
    if (reason.has_value()) return reason;
    held.info = {decision.decision_id(), tuple.reward(),
                 static_cast<uint32_t>(comparable.documents.size())};
    held.pairs = PairsOf(decision, comparable);
    if (Bytes(held) > memory_bytes_) return LeftOutReason::kBeyondMemory;
    if (tuple.censored_size() > 0) return LeftOutReason::kCensored;
    held.subsample = Subsample(decision);
    if (!kept_.Keeps(held.subsample)) return std::nullopt;
    NoteItems(decision, comparable);
    if (of_ == ClusterOf::kSources) held.documents = comparable.documents;
    Hold(std::move(held));
    return std::nullopt;
  }

  bool NeedsIds() const { return pairs_ != nullptr; }

  std::vector<CutFunction::Edge> PairsOf(
      const log::v1::Decision& decision,
      const ComparableDecision& comparable) const {
    if (pairs_ == nullptr || of_ != ClusterOf::kSources) return {};
    std::vector<absl::string_view> ids;
    for (const uint32_t document : comparable.documents) {
      ids.push_back(decision.candidate_ids(static_cast<int>(document)));
    }
    return pairs_->Among(ids);
  }

  void NoteItems(const log::v1::Decision& decision,
                 const ComparableDecision& comparable) {
    if (of_ == ClusterOf::kSources || !data_.item_ids.empty()) return;
    for (const uint32_t document : comparable.documents) {
      data_.item_ids.push_back(
          decision.candidate_ids(static_cast<int>(document)));
    }
  }

  // Also counts the copy that is grouped, because it is made while this one
  // still exists.
  uint64_t Bytes(const HeldDecision& held) const {
    const uint64_t items = held.info.num_items;
    const uint64_t scores = 2 * sizeof(double) * held.rows.size();
    const uint64_t rest =
        of_ == ClusterOf::kSources
            ? items * (kGroupBytesPerItem * most_clusters_ + kRowBytes)
            : held.rows.size() / items *
                  (kRowBytes + 2 * sizeof(double) * most_clusters_);
    return sizeof(HeldDecision) + held.info.id.size() + scores + rest +
           2 * held.pairs.size() * sizeof(CutFunction::Edge);
  }

  void Hold(HeldDecision held) {
    bytes_ += Bytes(held);
    held_.push_back(std::move(held));
    while (bytes_ > memory_bytes_) {
      kept_.Halve(
          "score lists exceed memory_mb: a sample of the decisions is kept");
      std::erase_if(held_, [this](const HeldDecision& decision) {
        return !kept_.Keeps(decision.subsample);
      });
      bytes_ = 0;
      for (const HeldDecision& kept : held_) bytes_ += Bytes(kept);
    }
  }

  ClusterData Assemble() {
    // If an id occurs twice, the rows decide.
    std::sort(held_.begin(), held_.end(),
              [](const HeldDecision& a, const HeldDecision& b) {
                return std::tie(a.info.id, a.rows) <
                       std::tie(b.info.id, b.rows);
              });
    of_ == ClusterOf::kSources ? AssembleSources() : AssembleRows();
    return std::move(data_);
  }

  void AssembleSources() {
    Eigen::Index columns = 0;
    for (const HeldDecision& held : held_) columns += held.info.num_items;
    const auto sources = static_cast<Eigen::Index>(held_[0].rows.size() /
                                                   held_[0].info.num_items);
    data_.vectors.resize(sources, columns);
    Eigen::Index begin = 0;
    for (; !held_.empty(); held_.pop_front()) {
      HeldDecision& held = held_.front();
      const auto items = static_cast<Eigen::Index>(held.info.num_items);
      data_.vectors.middleCols(begin, items) =
          Eigen::Map<const ScoreMatrix>(held.rows.data(), sources, items);
      begin += items;
      data_.documents.insert(data_.documents.end(), held.documents.begin(),
                             held.documents.end());
      data_.decisions.push_back(std::move(held.info));
      if (pairs_ != nullptr) data_.pairs.push_back(std::move(held.pairs));
    }
  }

  void AssembleRows() {
    const auto items = static_cast<Eigen::Index>(data_.item_ids.size());
    Eigen::Index count = 0;
    for (const HeldDecision& held : held_) {
      count += static_cast<Eigen::Index>(held.rows.size()) / items;
    }
    data_.vectors.resize(count, items);
    if (pairs_ != nullptr) {
      data_.pairs.push_back(
          pairs_->Among({data_.item_ids.begin(), data_.item_ids.end()}));
    }
    Eigen::Index begin = 0;
    for (; !held_.empty(); held_.pop_front()) {
      HeldDecision& held = held_.front();
      const Eigen::Index rows =
          static_cast<Eigen::Index>(held.rows.size()) / items;
      data_.vectors.middleRows(begin, rows) =
          Eigen::Map<const ScoreMatrix>(held.rows.data(), rows, items);
      begin += rows;
      for (Eigen::Index source = 0; source < rows; ++source) {
        data_.origins.push_back({static_cast<uint32_t>(data_.decisions.size()),
                                 static_cast<uint32_t>(source)});
      }
      data_.decisions.push_back(std::move(held.info));
    }
  }

  Thinning& thinning_;
  const config::v1::ClusterOptions& options_;
  const TupleLog& log_;
  const ClusterOf of_;
  const ScoreScale scale_;
  CandidatePairs* const pairs_;
  const uint64_t memory_bytes_;
  uint64_t most_clusters_ = 0;
  Hash128 key_;
  std::deque<HeldDecision> held_;
  uint64_t bytes_ = 0;  // Memory of held_.
  KeptShare kept_;
  ClusterData data_;
};

}  // namespace

absl::StatusOr<ClusterData> ReadClusterData(
    const config::v1::ClusterOptions& options, ClusterOf of, ScoreScale scale,
    CandidatePairs* pairs) {
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete()}));
  return ReadThinned<ClusterData>([&](Thinning* thinning) {
    return Reader(options, log, of, scale, pairs, thinning).Read();
  });
}

}  // namespace sortition
