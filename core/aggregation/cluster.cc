#include "core/aggregation/cluster.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"

namespace sortition {
namespace {

using Index = Eigen::Index;

std::span<const double> Row(const ScoreMatrix& matrix, Index row) {
  return {matrix.data() + row * matrix.cols(),
          static_cast<size_t>(matrix.cols())};
}

absl::Status Validate(const ScoreMatrix& lists, const SubmodularFunction& f,
                      const ClusterOptions& options) {
  if (static_cast<size_t>(lists.cols()) != f.num_items() || lists.cols() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("lists have ", lists.cols(), " scores, must have ",
                     f.num_items(), ", as the function has items, and not 0"));
  }
  if (options.clusters < 1 || options.clusters > lists.rows()) {
    return absl::InvalidArgumentError(
        absl::StrCat("clusters is ", options.clusters, ", must be in [1, ",
                     lists.rows(), "], the number of lists"));
  }
  if (!(options.euclidean >= 0 && options.euclidean < HUGE_VAL)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "euclidean is ", options.euclidean, ", must be at least 0 and finite"));
  }
  if (options.restarts < 1 || options.max_iterations < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "restarts is ", options.restarts, " and max_iterations is ",
        options.max_iterations, ", both must be at least 1"));
  }
  for (Index i = 0; i < lists.rows(); ++i) {
    for (Index j = 0; j < lists.cols(); ++j) {
      if (std::isfinite(lists(i, j))) continue;
      return absl::InvalidArgumentError(absl::StrCat("score ", j, " of list ",
                                                     i, " is ", lists(i, j),
                                                     ", must be finite"));
    }
  }
  return absl::OkStatus();
}

// One restart of k-means.
class KMeans {
 public:
  // All arguments must outlive this object. `extensions` has f̂ of every list.
  KMeans(const ScoreMatrix& lists, const Eigen::VectorXd& extensions,
         const SubmodularFunction& f, const ClusterOptions& options)
      : lists_(lists), extensions_(extensions), f_(f), options_(options) {
    const auto k = static_cast<Index>(options.clusters);
    result_.cluster.assign(lists.rows(), 0);
    result_.orders.resize(options.clusters);
    result_.sizes.assign(options.clusters, 0);
    result_.means.setZero(k, lists.cols());
    subgradients_.setZero(k, lists.cols());
  }

  Clustering Run(RandomSequence* random) {
    Seed(random);
    for (uint32_t i = 0; i < options_.max_iterations; ++i) {
      ++result_.iterations;
      Update();
      if (!Assign()) {
        result_.converged = true;
        break;
      }
    }
    Update();
    return std::move(result_);
  }

 private:
  // Returns the cost that each list would have in cluster c.
  Eigen::VectorXd Costs(Index c) const {
    Eigen::VectorXd costs =
        (extensions_ - lists_ * subgradients_.row(c).transpose()).cwiseMax(0);
    if (options_.euclidean > 0) {
      costs +=
          options_.euclidean *
          (lists_.rowwise() - result_.means.row(c)).rowwise().squaredNorm();
    }
    return costs;
  }

  void Represent(Index c) {
    Order& order = result_.orders[c];
    sorter_.Sort(Row(result_.means, c), &order);
    f_.ExtremeSubgradient(order, {subgradients_.row(c).data(),
                                  static_cast<size_t>(lists_.cols())});
  }

  void Seed(RandomSequence* random) {
    const Index n = lists_.rows();
    costs_ = Eigen::VectorXd::Ones(n);  // The first one is drawn uniformly.
    for (Index c = 0; c < result_.means.rows(); ++c) {
      double rest = random->Uniform() * costs_.sum();
      Index chosen = 0;
      while (chosen + 1 < n && rest >= costs_(chosen)) rest -= costs_(chosen++);
      result_.means.row(c) = lists_.row(chosen);
      Represent(c);
      Claim(c, Costs(c), /*first=*/c == 0);
    }
    FillEmpty();
  }

  // Moves lists that cost less in cluster c there, or all of them if this is
  // the first cluster. Returns whether any list changed its cluster.
  bool Claim(Index c, const Eigen::VectorXd& costs, bool first) {
    bool moved = false;
    for (Index i = 0; i < lists_.rows(); ++i) {
      if (!first && costs(i) >= costs_(i)) continue;
      costs_(i) = costs(i);
      moved = moved || result_.cluster[i] != static_cast<uint32_t>(c);
      result_.cluster[i] = static_cast<uint32_t>(c);
    }
    return moved;
  }

  void CountSizes() {
    std::fill(result_.sizes.begin(), result_.sizes.end(), 0);
    for (const uint32_t c : result_.cluster) ++result_.sizes[c];
  }

  // Moves the list with the highest cost into each empty cluster. There are at
  // least as many lists as clusters, so that some cluster has a list to spare.
  void FillEmpty() {
    CountSizes();
    for (uint32_t c = 0; c < options_.clusters; ++c) {
      if (result_.sizes[c] > 0) continue;
      Index worst = -1;
      for (Index i = 0; i < lists_.rows(); ++i) {
        if (result_.sizes[result_.cluster[i]] < 2) continue;
        if (worst < 0 || costs_(i) > costs_(worst)) worst = i;
      }
      --result_.sizes[result_.cluster[worst]];
      result_.cluster[worst] = c;
      result_.sizes[c] = 1;
      costs_(worst) = 0;
    }
  }

  void Update() {
    result_.means.setZero();
    for (Index i = 0; i < lists_.rows(); ++i) {
      result_.means.row(result_.cluster[i]) += lists_.row(i);
    }
    for (Index c = 0; c < result_.means.rows(); ++c) {
      result_.means.row(c) /= result_.sizes[c];
      Represent(c);
      const Eigen::VectorXd costs = Costs(c);
      for (Index i = 0; i < lists_.rows(); ++i) {
        if (result_.cluster[i] == static_cast<uint32_t>(c)) {
          costs_(i) = costs(i);
        }
      }
    }
    Record();
  }

  bool Assign() {
    bool moved = false;
    for (Index c = 0; c < result_.means.rows(); ++c) {
      moved = Claim(c, Costs(c), /*first=*/false) || moved;
    }
    FillEmpty();
    Record();
    return moved;
  }

  void Record() {
    result_.objective = costs_.sum();
    result_.objectives.push_back(result_.objective);
  }

  const ScoreMatrix& lists_;
  const Eigen::VectorXd& extensions_;
  const SubmodularFunction& f_;
  const ClusterOptions& options_;
  Clustering result_;
  Eigen::VectorXd costs_;     // The cost of each list in its cluster.
  ScoreMatrix subgradients_;  // h_σ of each cluster's order σ.
  Sorter sorter_;
};

}  // namespace

absl::StatusOr<Clustering> Cluster(
    const ScoreMatrix& lists, const SubmodularFunction& f,
    const ClusterOptions& options,
    const std::function<void(uint32_t restart)>& progress) {
  if (absl::Status status = Validate(lists, f, options); !status.ok()) {
    return status;
  }
  Eigen::VectorXd extensions(lists.rows());
  for (Index i = 0; i < lists.rows(); ++i) {
    extensions(i) = LovaszExtension(f, Row(lists, i));
  }
  Clustering best;
  for (uint32_t restart = 0; restart < options.restarts; ++restart) {
    RandomSequence random(StableHash(
        HashDomain::kTraining,
        {"cluster", absl::StrCat(options.seed), absl::StrCat(restart)}));
    Clustering run = KMeans(lists, extensions, f, options).Run(&random);
    if (restart == 0 || run.objective < best.objective) best = std::move(run);
    if (progress) progress(restart);
  }
  return best;
}

}  // namespace sortition
