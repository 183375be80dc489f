#include "trainer/cluster/cluster_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/aggregation/aggregate.h"
#include "core/aggregation/tied_orders.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;
using Index = Eigen::Index;

constexpr int kListedMembers = 10;
constexpr size_t kListedItems = 1000;
constexpr size_t kListedDisputes = 10;
// Disputes below this share of the largest one are rounding errors.
constexpr double kRounding = 1e-12;

class Describer {
 public:
  Describer(const ClusterData& data, ClusterOf of, const BlockFunction& f,
            const Grouping& grouping)
      : data_(data),
        of_(of),
        f_(f),
        grouping_(grouping),
        clustering_(grouping.clustering),
        subgradients_(clustering_.means.rows(), clustering_.means.cols()) {
    for (Index c = 0; c < subgradients_.rows(); ++c) {
      MeanSubgradient(f, Mean(static_cast<uint32_t>(c)),
                      {subgradients_.row(c).data(), f.num_items()});
      split_.push_back(f.SplitOrder(clustering_.orders[c]));
    }
  }

  void Fill(ClusterReport* report) const {
    report->set_vectors(data_.vectors.rows());
    report->set_items(data_.vectors.cols());
    report->set_flat((grouping_.reversed.array() == 0).count());
    if (const double reversed = grouping_.reversed.sum(); reversed > 0) {
      report->set_share_by_chance(grouping_.by_chance.sum() / reversed);
    }
    for (uint32_t c = 0; c < clustering_.sizes.size(); ++c) {
      FillGroup(c, report->add_groups());
    }
    FillKendall(report);
    FillMembers(report);
    if (!data_.pairs.empty()) FillAgainstPairs(report);
    FillDisputes(report);
  }

 private:
  std::span<const double> Mean(uint32_t c) const {
    return {clustering_.means.row(c).data(), f_.num_items()};
  }

  std::span<const uint32_t> BlockOrder(uint32_t c, size_t block) const {
    return std::span(split_[c]).subspan(f_.begin(block),
                                        f_.begin(block + 1) - f_.begin(block));
  }

  void FillGroup(uint32_t c, ClusterReport::Group* group) const {
    group->set_size(clustering_.sizes[c]);
    double total_variation = 0;
    for (size_t b = 0; b < f_.num_blocks(); ++b) {
      const std::span<const uint32_t> order = BlockOrder(c, b);
      total_variation +=
          MeanDifference(Mean(c).subspan(f_.begin(b), order.size()), order);
    }
    group->set_total_variation(total_variation /
                               static_cast<double>(f_.num_blocks()));
    FillDivergences(c, group);
    if (of_ != ClusterOf::kSources) FillOrder(c, group);
    if (of_ == ClusterOf::kQueries) FillReward(c, group);
  }

  void FillKendall(ClusterReport* report) const {
    const auto k = static_cast<int>(clustering_.sizes.size());
    for (auto& group : *report->mutable_groups()) {
      group.mutable_kendall_from()->Resize(k, 0);
    }
    for (int a = 0; a < k; ++a) {
      for (int b = a + 1; b < k; ++b) {
        const double share = Kendall(a, b);
        report->mutable_groups(a)->set_kendall_from(b, share);
        report->mutable_groups(b)->set_kendall_from(a, share);
      }
    }
  }

  double Kendall(uint32_t a, uint32_t b) const {
    double inverted = 0;
    double pairs = 0;
    for (size_t block = 0; block < f_.num_blocks(); ++block) {
      const size_t begin = f_.begin(block);
      const size_t size = f_.begin(block + 1) - begin;
      inverted += TiedKendallDistance(Mean(a).subspan(begin, size),
                                      Mean(b).subspan(begin, size));
      const auto n = static_cast<double>(size);
      pairs += n * (n - 1) / 2;
    }
    return inverted / pairs;
  }

  void FillDivergences(uint32_t c, ClusterReport::Group* group) const {
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(grouping_.divergences.cols());
    double reversed = 0;
    double without = 0;
    for (Index i = 0; i < grouping_.divergences.rows(); ++i) {
      if (clustering_.cluster[i] != c) continue;
      sums += grouping_.divergences.row(i).transpose();
      reversed += grouping_.reversed(i);
      without += grouping_.without(i);
    }
    group->set_divergence(sums(c) / clustering_.sizes[c]);
    group->set_share_reversed(reversed > 0 ? sums(c) / reversed : 0);
    sums(c) = without;
    for (const double sum : sums) {
      group->add_share_reversed_from(reversed > 0 ? sum / reversed : 0);
    }
  }

  void FillOrder(uint32_t c, ClusterReport::Group* group) const {
    const Order& order = clustering_.orders[c];
    for (size_t r = 0; r < std::min(kListedItems, order.size()); ++r) {
      ClusterReport::Item* item = group->add_order();
      item->set_id(data_.item_ids[order[r]]);
      item->set_mean(Mean(c)[order[r]]);
    }
  }

  void FillReward(uint32_t c, ClusterReport::Group* group) const {
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < clustering_.cluster.size(); ++i) {
      if (clustering_.cluster[i] == c) sum += Reward(i);
    }
    const double mean = sum / clustering_.sizes[c];
    group->set_mean_reward(mean);
    if (clustering_.sizes[c] < 2) return;
    for (size_t i = 0; i < clustering_.cluster.size(); ++i) {
      if (clustering_.cluster[i] != c) continue;
      squares += (Reward(i) - mean) * (Reward(i) - mean);
    }
    const double n = clustering_.sizes[c];
    group->set_reward_standard_error(std::sqrt(squares / (n - 1) / n));
  }

  double Reward(size_t row) const {
    return data_.decisions[data_.origins[row].decision].reward;
  }

  void FillMembers(ClusterReport* report) const {
    for (size_t i = 0; i < clustering_.cluster.size(); ++i) {
      const uint32_t c = clustering_.cluster[i];
      auto* group = report->mutable_groups(static_cast<int>(c));
      const bool sources = of_ == ClusterOf::kSources;
      if (!sources && group->members_size() == kListedMembers) continue;
      ClusterReport::Member* member = group->add_members();
      const auto row = static_cast<Index>(i);
      member->set_divergence(grouping_.divergences(row, c));
      if (sources) {
        member->set_source(static_cast<uint32_t>(i));
        continue;
      }
      member->set_decision_id(data_.decisions[data_.origins[i].decision].id);
      if (of_ == ClusterOf::kLists) member->set_source(data_.origins[i].source);
    }
  }

  // Pairs that a vector has the other way round, as a share of those that it
  // tells apart: its divergence from the partial order, divided by the largest
  // possible, which is that of its own order reversed.
  void FillAgainstPairs(ClusterReport* report) const {
    std::vector<double> sums(clustering_.sizes.size());
    std::vector<double> reversed(clustering_.sizes.size());
    std::vector<int> members(clustering_.sizes.size());
    for (size_t i = 0; i < clustering_.cluster.size(); ++i) {
      const auto row = static_cast<Index>(i);
      const uint32_t c = clustering_.cluster[i];
      const double against = AgainstPairs(row);
      sums[c] += against;
      reversed[c] += grouping_.reversed(row);
      auto* const group = report->mutable_groups(static_cast<int>(c));
      const int member = members[c]++;
      if (member < group->members_size() && grouping_.reversed(row) > 0) {
        group->mutable_members(member)->set_share_against_pairs(
            against / grouping_.reversed(row));
      }
    }
    for (size_t c = 0; c < sums.size(); ++c) {
      if (reversed[c] == 0) continue;
      report->mutable_groups(static_cast<int>(c))
          ->set_share_against_pairs(sums[c] / reversed[c]);
    }
  }

  double AgainstPairs(Index row) const {
    const std::span<const double> x(data_.vectors.row(row).data(),
                                    f_.num_items());
    double sum = 0;
    for (size_t b = 0; b < f_.num_blocks(); ++b) {
      sum += PartialOrderDivergence(x.subspan(f_.begin(b)), data_.pairs[b]);
    }
    return sum;
  }

  // Reports the largest of those `values` that exceed 0 by more than rounding.
  void FillLargest(
      const std::vector<double>& values, ClusterReport* report,
      const std::function<void(size_t, ClusterReport::Dispute*)>& fill) const {
    std::vector<size_t> places(values.size());
    std::iota(places.begin(), places.end(), size_t{0});
    const size_t listed = std::min(kListedDisputes, places.size());
    std::partial_sort(places.begin(), places.begin() + listed, places.end(),
                      [&](size_t a, size_t b) {
                        return values[a] != values[b] ? values[a] > values[b]
                                                      : a < b;
                      });
    const double least = values[places[0]] * kRounding;
    for (size_t r = 0; r < listed; ++r) {
      if (!(values[places[r]] > std::max(0.0, least))) break;
      ClusterReport::Dispute* dispute = report->add_disputes();
      dispute->set_divergence(values[places[r]]);
      fill(places[r], dispute);
    }
  }

  void FillDisputes(ClusterReport* report) const {
    if (clustering_.sizes.size() < 2) return;
    if (of_ == ClusterOf::kSources) {
      FillLargest(
          DisputesOfDecisions(), report,
          [this](size_t block, ClusterReport::Dispute* dispute) {
            dispute->set_id(data_.decisions[block].id);
            for (uint32_t c = 0; c < clustering_.sizes.size(); ++c) {
              dispute->add_first(
                  data_.documents[f_.begin(block) + BlockOrder(c, block)[0]]);
            }
          });
      return;
    }
    std::vector<std::vector<uint32_t>> ranks;
    for (const Order& order : clustering_.orders) {
      ranks.push_back(RanksOf(order));
    }
    const Eigen::RowVectorXd spread =
        subgradients_.colwise().maxCoeff() - subgradients_.colwise().minCoeff();
    FillLargest({spread.begin(), spread.end()}, report,
                [&](size_t item, ClusterReport::Dispute* dispute) {
                  dispute->set_id(data_.item_ids[item]);
                  for (const auto& of_group : ranks) {
                    dispute->add_rank(of_group[item]);
                  }
                });
  }

  // Returns for each block the mean over a != b of d(μ_a‖σ_b). It is Σ_a <k h_a
  // - Σ_b h_b, μ_a> over k (k - 1), since h_a is also the subgradient at μ_a.
  std::vector<double> DisputesOfDecisions() const {
    const auto k = static_cast<double>(clustering_.sizes.size());
    const Eigen::RowVectorXd all = subgradients_.colwise().sum();
    const Eigen::RowVectorXd terms = ((k * subgradients_).rowwise() - all)
                                         .cwiseProduct(clustering_.means)
                                         .colwise()
                                         .sum() /
                                     (k * (k - 1));
    std::vector<double> disputes;
    for (size_t b = 0; b < f_.num_blocks(); ++b) {
      const auto begin = static_cast<Index>(f_.begin(b));
      const auto size = static_cast<Index>(f_.begin(b + 1)) - begin;
      disputes.push_back(terms.segment(begin, size).sum());
    }
    return disputes;
  }

  const ClusterData& data_;
  const ClusterOf of_;
  const BlockFunction& f_;
  const Grouping& grouping_;
  const Clustering& clustering_;
  ScoreMatrix subgradients_;  // h of each group's mean, averaged over ties.
  std::vector<Order> split_;  // For each group: the order of each block.
};

}  // namespace

void DescribeGroups(const ClusterData& data, ClusterOf of,
                    const BlockFunction& f, const Grouping& grouping,
                    ClusterReport* report) {
  Describer(data, of, f, grouping).Fill(report);
}

}  // namespace sortition
