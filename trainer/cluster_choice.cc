#include "trainer/cluster_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "core/base/status_macros.h"
#include "trainer/progress.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;
using Index = Eigen::Index;

constexpr uint32_t kMostClusters = 6;
// A divergence is a difference of two sums: what is below this share of the
// largest there can be is 0.
constexpr double kRounding = 1e-12;

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

// Renumbers the groups: the largest first.
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

// Tries one number of groups after the other on the same vectors.
class Chooser {
 public:
  Chooser(const ScoreMatrix& vectors, const BlockFunction& f,
          const config::v1::ClusterOptions& options)
      : vectors_(vectors),
        f_(f),
        options_(options),
        extensions_(vectors.rows()),
        reversed_(vectors.rows()) {
    for (Index i = 0; i < vectors.rows(); ++i) Measure(i);
  }

  absl::StatusOr<GroupingChoice> Run() {
    const std::vector<uint32_t> grid = Grid(options_, vectors_.rows());
    ASSIGN_OR_RETURN(const Clustering one, Fit(1, nullptr));
    Progress progress("grouping", "beginnings",
                      grid.size() * options_.restarts());
    GroupingChoice choice;
    size_t best = 0;
    for (const uint32_t k : grid) {
      ASSIGN_OR_RETURN(Clustering found, Fit(k, &progress));
      Grouping grouping = Describe(Renumber(std::move(found)));
      choice.trials.push_back(MakeTrial(grouping, one.objective));
      const ClusterReport::Trial& trial = choice.trials.back();
      const ClusterReport::Trial& so_far = choice.trials[best];
      if (choice.trials.size() == 1 || !so_far.has_silhouette() ||
          trial.silhouette() > so_far.silhouette()) {
        best = choice.trials.size() - 1;
        choice.grouping = std::move(grouping);
      }
    }
    choice.trials[best].set_chosen(true);
    return choice;
  }

 private:
  std::span<const double> Row(Index i) const {
    return {vectors_.data() + i * vectors_.cols(),
            static_cast<size_t>(vectors_.cols())};
  }

  // The extension of the vector, and what its own order reversed would cost.
  void Measure(Index i) {
    Order order;
    sorter_.Sort(Row(i), &order);
    Eigen::RowVectorXd h(vectors_.cols());
    const std::span<double> entries(h.data(), static_cast<size_t>(h.size()));
    f_.ExtremeSubgradient(order, entries);
    extensions_(i) = h.dot(vectors_.row(i));
    std::reverse(order.begin(), order.end());
    f_.ExtremeSubgradient(order, entries);
    reversed_(i) = std::max(0.0, extensions_(i) - h.dot(vectors_.row(i)));
  }

  absl::StatusOr<Clustering> Fit(uint32_t k, Progress* progress) const {
    ClusterOptions options;
    options.clusters = k;
    options.euclidean = options_.euclidean();
    options.restarts = k == 1 ? 1 : options_.restarts();
    options.max_iterations = options_.max_iterations();
    options.seed = options_.seed();
    return Cluster(vectors_, f_, options, [progress](uint32_t) {
      if (progress != nullptr) progress->Add(1);
    });
  }

  Grouping Describe(Clustering clustering) const {
    const auto k = static_cast<Index>(clustering.sizes.size());
    Eigen::MatrixXd divergences(vectors_.rows(), k);
    Eigen::RowVectorXd h(vectors_.cols());
    for (Index c = 0; c < k; ++c) {
      f_.ExtremeSubgradient(clustering.orders[c],
                            {h.data(), static_cast<size_t>(h.size())});
      for (Index i = 0; i < vectors_.rows(); ++i) {
        divergences(i, c) = Divergence(i, h);
      }
    }
    return {std::move(clustering), std::move(divergences), reversed_};
  }

  ClusterReport::Trial MakeTrial(const Grouping& grouping, double of_one) {
    const Clustering& clustering = grouping.clustering;
    ClusterReport::Trial trial;
    trial.set_clusters(static_cast<uint32_t>(clustering.sizes.size()));
    trial.set_objective(clustering.objective);
    if (of_one > 0) trial.set_share(clustering.objective / of_one);
    trial.set_iterations(clustering.iterations);
    trial.set_converged(clustering.converged);
    if (trial.clusters() > 1) {
      trial.set_silhouette(
          MeanSilhouette(SilhouetteCosts(grouping), clustering.cluster));
    }
    return trial;
  }

  // Of each vector in each group; in its own, of that without it. Else a group
  // of few long vectors, whose mean is half of each, would seem near to them.
  Eigen::MatrixXd SilhouetteCosts(const Grouping& grouping) {
    const Clustering& clustering = grouping.clustering;
    Eigen::MatrixXd costs = grouping.divergences;
    for (Index c = 0; options_.euclidean() > 0 && c < costs.cols(); ++c) {
      costs.col(c) +=
          options_.euclidean() * (vectors_.rowwise() - clustering.means.row(c))
                                     .rowwise()
                                     .squaredNorm();
    }
    Order order;
    Eigen::RowVectorXd h(vectors_.cols());
    for (Index i = 0; i < costs.rows(); ++i) {
      const uint32_t own = clustering.cluster[i];
      const double size = clustering.sizes[own];
      if (size < 2) continue;
      const Eigen::RowVectorXd mean =
          (size * clustering.means.row(own) - vectors_.row(i)) / (size - 1);
      const auto n = static_cast<size_t>(mean.size());
      sorter_.Sort(std::span(mean.data(), n), &order);
      f_.ExtremeSubgradient(order, {h.data(), n});
      costs(i, own) =
          Divergence(i, h) +
          options_.euclidean() * (vectors_.row(i) - mean).squaredNorm();
    }
    return costs;
  }

  // From the order whose subgradient is `h`.
  double Divergence(Index i, const Eigen::RowVectorXd& h) const {
    const double divergence = extensions_(i) - h.dot(vectors_.row(i));
    return divergence > kRounding * reversed_(i) ? divergence : 0;
  }

  const ScoreMatrix& vectors_;
  const BlockFunction& f_;
  const config::v1::ClusterOptions& options_;
  Eigen::VectorXd extensions_;  // f̂ of each vector.
  Eigen::VectorXd reversed_;
  Sorter sorter_;
};

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
    const config::v1::ClusterOptions& options) {
  return Chooser(vectors, f, options).Run();
}

}  // namespace sortition
