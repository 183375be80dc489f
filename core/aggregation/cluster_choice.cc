#include "core/aggregation/cluster_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/aggregation/cluster_measure.h"
#include "core/aggregation/tied_orders.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;
using Index = Eigen::Index;

constexpr uint32_t kMostClusters = 6;
constexpr uint32_t kChanceRestarts = 3;
const ReportSteps kSilent = [](uint64_t) {};

std::vector<uint32_t> Grid(const config::v1::ClusterOptions& options,
                           Index vectors) {
  std::set<uint32_t> grid(options.clusters().begin(), options.clusters().end());
  if (grid.empty()) {
    const auto most =
        std::min<uint32_t>(kMostClusters, static_cast<uint32_t>(vectors - 1));
    for (uint32_t k = 2; k <= std::max(2u, most); ++k) grid.insert(k);
  }
  return {grid.begin(), grid.end()};
}

// Renumbers the groups: the largest first, ties by their first vector.
Clustering Renumber(Clustering found) {
  std::vector<uint32_t> first(found.sizes.size(), UINT32_MAX);
  for (uint32_t i = 0; i < found.cluster.size(); ++i) {
    first[found.cluster[i]] = std::min(first[found.cluster[i]], i);
  }
  std::vector<uint32_t> old(found.sizes.size());
  std::iota(old.begin(), old.end(), 0u);
  std::sort(old.begin(), old.end(), [&](uint32_t a, uint32_t b) {
    return found.sizes[a] != found.sizes[b] ? found.sizes[a] > found.sizes[b]
                                            : first[a] < first[b];
  });
  Clustering result = found;
  std::vector<uint32_t> renumbered(old.size());
  for (uint32_t c = 0; c < old.size(); ++c) {
    renumbered[old[c]] = c;
    result.orders[c] = std::move(found.orders[old[c]]);
    result.means.row(c) = found.means.row(old[c]);
    result.sizes[c] = found.sizes[old[c]];
  }
  for (uint32_t& c : result.cluster) c = renumbered[c];
  return result;
}

// Shuffles the scores of each vector within each block at random.
void Shuffle(const BlockFunction& f, uint64_t seed, ScoreMatrix* vectors) {
  RandomSequence random(StableHash(HashDomain::kTraining,
                                   {"cluster by chance", absl::StrCat(seed)}));
  for (Index i = 0; i < vectors->rows(); ++i) {
    double* row = vectors->row(i).data();
    for (size_t b = 0; b < f.num_blocks(); ++b) {
      for (size_t j = f.begin(b + 1) - 1; j > f.begin(b); --j) {
        std::swap(row[j], row[f.begin(b) + random.Below(j - f.begin(b) + 1)]);
      }
    }
  }
}

// Tries several numbers of groups, one after the other, on the same vectors.
class Chooser {
 public:
  Chooser(const ScoreMatrix& vectors, const BlockFunction& f,
          const config::v1::ClusterOptions& options,
          const StartProgress& start_progress)
      : vectors_(options.euclidean() > 0 ? vectors : WithoutLeast(vectors, f)),
        f_(f),
        options_(options),
        start_progress_(start_progress) {
    measure_.emplace(vectors_, f);
  }

  absl::StatusOr<GroupingChoice> Run() {
    const std::vector<uint32_t> grid = Grid(options_, vectors_.rows());
    ASSIGN_OR_RETURN(const Clustering one, Fit(1, 1, kSilent));
    const ReportSteps report = start_progress_(
        "grouping", "restarts", grid.size() * options_.restarts());
    GroupingChoice choice;
    size_t best = 0;
    for (const uint32_t k : grid) {
      ASSIGN_OR_RETURN(Clustering found, Fit(k, options_.restarts(), report));
      Grouping grouping = Describe(Renumber(std::move(found)));
      choice.trials.push_back(MakeTrial(grouping, one.objective));
      if (choice.trials.size() == 1 || Better(grouping, choice.grouping)) {
        best = choice.trials.size() - 1;
        choice.grouping = std::move(grouping);
      }
    }
    choice.trials[best].set_chosen(true);
    RETURN_IF_ERROR(CompareWithChance(&choice.trials[best]));
    return choice;
  }

 private:
  // A grouping without a silhouette is chosen only if all others have none.
  static bool Better(const Grouping& grouping, const Grouping& so_far) {
    return !so_far.silhouette.has_value() ||
           (grouping.silhouette.has_value() &&
            *grouping.silhouette > *so_far.silhouette);
  }

  absl::StatusOr<Clustering> Fit(uint32_t k, uint32_t restarts,
                                 const ReportSteps& report) const {
    ClusterOptions options;
    options.clusters = k;
    options.euclidean = options_.euclidean();
    options.restarts = restarts;
    options.max_iterations = options_.max_iterations();
    options.seed = options_.seed();
    return Cluster(vectors_, f_, options, [&report](uint32_t) { report(1); });
  }

  // Computes the silhouette of the same number of groups for shuffled vectors,
  // in which there are no groups to find. Overwrites the vectors.
  absl::Status CompareWithChance(ClusterReport::Trial* trial) {
    if (!trial->has_silhouette()) return absl::OkStatus();
    Shuffle(f_, options_.seed(), &vectors_);
    measure_.emplace(vectors_, f_);
    ASSIGN_OR_RETURN(
        Clustering found,
        Fit(trial->clusters(), std::min(kChanceRestarts, options_.restarts()),
            kSilent));
    // There is no silhouette if every group has one vector.
    trial->set_silhouette_by_chance(
        Describe(std::move(found)).silhouette.value_or(0));
    return absl::OkStatus();
  }

  Grouping Describe(Clustering clustering) const {
    const auto k = static_cast<Index>(clustering.sizes.size());
    Grouping grouping;
    grouping.divergences.resize(vectors_.rows(), k);
    grouping.reversed = measure_->reversed();
    grouping.by_chance = measure_->by_chance();
    Eigen::RowVectorXd h(vectors_.cols());
    for (Index c = 0; c < k; ++c) {
      MeanSubgradient(f_, {clustering.means.row(c).data(), f_.num_items()},
                      {h.data(), f_.num_items()});
      for (Index i = 0; i < vectors_.rows(); ++i) {
        grouping.divergences(i, c) = measure_->Divergence(i, h);
      }
    }
    grouping.clustering = std::move(clustering);
    Compare(&grouping);
    return grouping;
  }

  ClusterReport::Trial MakeTrial(const Grouping& grouping,
                                 double of_one) const {
    const Clustering& clustering = grouping.clustering;
    ClusterReport::Trial trial;
    trial.set_clusters(static_cast<uint32_t>(clustering.sizes.size()));
    trial.set_objective(clustering.objective);
    if (of_one > measure_->rounding()) {
      trial.set_share(clustering.objective / of_one);
    }
    trial.set_iterations(clustering.iterations);
    trial.set_converged(clustering.converged);
    if (grouping.silhouette.has_value()) {
      trial.set_silhouette(*grouping.silhouette);
    }
    return trial;
  }

  // Fills in the fields that compare a vector's own group with the others. The
  // own group is taken without the vector: otherwise a vector in a small group
  // would seem close to a mean that is largely the vector itself.
  void Compare(Grouping* grouping) const {
    const Clustering& clustering = grouping->clustering;
    const double euclidean = options_.euclidean();
    Eigen::MatrixXd costs = grouping->divergences;
    for (Index c = 0; euclidean > 0 && c < costs.cols(); ++c) {
      costs.col(c) += euclidean * (vectors_.rowwise() - clustering.means.row(c))
                                      .rowwise()
                                      .squaredNorm();
    }
    grouping->without.setZero(costs.rows());
    Eigen::RowVectorXd h(vectors_.cols());
    for (Index i = 0; i < costs.rows(); ++i) {
      const uint32_t own = clustering.cluster[i];
      const double size = clustering.sizes[own];
      grouping->next.push_back(NextGroup(costs.row(i), own));
      if (size < 2) continue;
      const Eigen::RowVectorXd mean =
          (size * clustering.means.row(own) - vectors_.row(i)) / (size - 1);
      MeanSubgradient(f_, {mean.data(), f_.num_items()},
                      {h.data(), f_.num_items()});
      grouping->without(i) = measure_->Divergence(i, h);
      costs(i, own) = grouping->without(i) +
                      euclidean * (vectors_.row(i) - mean).squaredNorm();
    }
    if (costs.cols() > 1 && LargestSize(clustering) > 1) {
      grouping->silhouette = MeanSilhouette(costs, clustering.cluster);
    }
  }

  static uint32_t LargestSize(const Clustering& clustering) {
    return *std::max_element(clustering.sizes.begin(), clustering.sizes.end());
  }

  // Returns the group other than `own` with the lowest cost; `own` if there is
  // none.
  static uint32_t NextGroup(const Eigen::RowVectorXd& costs, uint32_t own) {
    uint32_t next = own;
    for (uint32_t c = 0; c < costs.size(); ++c) {
      if (c == own) continue;
      if (next == own || costs(c) < costs(next)) next = c;
    }
    return next;
  }

  ScoreMatrix vectors_;
  const BlockFunction& f_;
  const config::v1::ClusterOptions& options_;
  const StartProgress& start_progress_;
  std::optional<VectorMeasure> measure_;  // Measures vectors_.
};

// Sets the means to those of the vectors as the caller gave them.
void FillMeans(const ScoreMatrix& vectors, Clustering* clustering) {
  clustering->means.setZero();
  for (Index i = 0; i < vectors.rows(); ++i) {
    clustering->means.row(clustering->cluster[i]) += vectors.row(i);
  }
  for (Index c = 0; c < clustering->means.rows(); ++c) {
    clustering->means.row(c) /= clustering->sizes[c];
  }
}

}  // namespace

double MeanSilhouette(const Eigen::MatrixXd& costs,
                      const std::vector<uint32_t>& cluster) {
  std::vector<size_t> sizes(costs.cols());
  for (const uint32_t c : cluster) ++sizes[c];
  double sum = 0;
  for (Index i = 0; i < costs.rows(); ++i) {
    const auto own_cluster = static_cast<Index>(cluster[i]);
    if (sizes[cluster[i]] < 2) continue;
    const double own = costs(i, own_cluster);
    double other = HUGE_VAL;
    for (Index c = 0; c < costs.cols(); ++c) {
      if (c != own_cluster) other = std::min(other, costs(i, c));
    }
    const double larger = std::max(own, other);
    if (larger > 0) sum += (other - own) / larger;
  }
  return sum / static_cast<double>(costs.rows());
}

absl::StatusOr<GroupingChoice> ChooseClusters(
    const ScoreMatrix& vectors, const BlockFunction& f,
    const config::v1::ClusterOptions& options,
    const StartProgress& start_progress) {
  ASSIGN_OR_RETURN(GroupingChoice choice,
                   Chooser(vectors, f, options, start_progress).Run());
  FillMeans(vectors, &choice.grouping.clustering);
  return choice;
}

}  // namespace sortition
