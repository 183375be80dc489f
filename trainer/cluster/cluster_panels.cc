#include "trainer/cluster/cluster_panels.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/aggregation/principal_axes.h"
#include "process/drawing/xml_text.h"
#include "trainer/cluster/cluster_report.h"

namespace sortition {
namespace {

using Index = Eigen::Index;

constexpr size_t kMostLabels = 40;
constexpr size_t kMostSources = 25;
constexpr size_t kMostGroups = 8;
constexpr size_t kMostWideGroups = 5;  // With more, headings are bare numbers.
constexpr size_t kMostCandidates = 15;
constexpr size_t kMostIdCharacters = 14;

size_t ShownGroups(const ClusterPicture& picture) {
  return std::min(kMostGroups, picture.grouping.clustering.sizes.size());
}

std::vector<Heading> GroupHeadings(const ClusterPicture& picture) {
  const bool narrow = ShownGroups(picture) > kMostWideGroups;
  std::vector<Heading> headings;
  for (size_t c = 0; c < ShownGroups(picture); ++c) {
    headings.push_back(
        {.name = absl::StrCat(narrow ? "" : "group ", c),
         .note = absl::StrCat("(", picture.grouping.clustering.sizes[c], ")"),
         .colour = Colour(c),
         .note_size = narrow ? 9.0 : kSmallSize});
  }
  return headings;
}

// Returns "; " and how many of the groups are shown, or nothing if all are.
std::string DescribeGroupsShown(const ClusterPicture& picture) {
  const size_t shown = ShownGroups(picture);
  const size_t all = picture.grouping.clustering.sizes.size();
  return shown < all ? absl::StrCat("; ", shown, " of ", all, " groups") : "";
}

std::string AxisName(absl::string_view which, double share, bool of_sample) {
  return absl::StrFormat("%s principal component (%.0f %% of the variance%s)",
                         which, 100 * share, of_sample ? " of a sample" : "");
}

// Returns the first sources in the order of group and number.
std::vector<uint32_t> ShownSources(const ClusterPicture& picture) {
  const auto& cluster = picture.grouping.clustering.cluster;
  std::vector<uint32_t> sources(cluster.size());
  std::iota(sources.begin(), sources.end(), 0u);
  std::stable_sort(sources.begin(), sources.end(), [&](uint32_t a, uint32_t b) {
    return cluster[a] < cluster[b];
  });
  sources.resize(std::min(kMostSources, sources.size()));
  return sources;
}

std::optional<double> ShareOfReversed(const Grouping& grouping, uint32_t source,
                                      size_t group) {
  const double reversed = grouping.reversed(source);
  const bool own = grouping.clustering.cluster[source] == group;
  if (!(reversed > 0) || (own && grouping.clustering.sizes[group] < 2)) {
    return std::nullopt;
  }
  const double divergence =
      own ? grouping.without(source)
          : grouping.divergences(source, static_cast<Index>(group));
  return divergence / reversed;
}

// Returns the candidates in the order of their best rank in any of the orders.
std::vector<uint32_t> ShownCandidates(
    const std::vector<std::vector<uint32_t>>& ranks) {
  const size_t n = ranks[0].size();
  std::vector<uint32_t> best(n, UINT32_MAX);
  for (const auto& of_group : ranks) {
    for (size_t i = 0; i < n; ++i) best[i] = std::min(best[i], of_group[i]);
  }
  std::vector<uint32_t> candidates(n);
  std::iota(candidates.begin(), candidates.end(), 0u);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](uint32_t a, uint32_t b) { return best[a] < best[b]; });
  candidates.resize(std::min(kMostCandidates, n));
  return candidates;
}

}  // namespace

ScatterPlot ScatterOfVectors(const ClusterPicture& picture) {
  const ScoreMatrix& vectors = picture.data.vectors;
  const Clustering& clustering = picture.grouping.clustering;
  const PrincipalAxes axes = FindPrincipalAxes(vectors);
  const std::vector<Index> drawn = SpreadOut(vectors.rows(), kMostPoints);
  const Eigen::MatrixXd points = axes.Project(vectors, drawn);
  const Index groups = clustering.means.rows();
  const Eigen::MatrixXd means =
      axes.Project(clustering.means, SpreadOut(groups, groups));
  const bool labelled =
      picture.of == ClusterOf::kSources && drawn.size() <= kMostLabels;
  ScatterPlot plot;
  plot.title = "Where they lie";
  plot.x_name = AxisName("First", axes.shares[0], axes.of_sample);
  plot.y_name = AxisName("Second", axes.shares[1], axes.of_sample);
  for (Index i = 0; i < points.rows(); ++i) {
    plot.dots.push_back({.place = {points(i, 0), points(i, 1)},
                         .group = clustering.cluster[drawn[i]],
                         .label = labelled ? absl::StrCat(drawn[i]) : ""});
  }
  for (Index c = 0; c < groups; ++c) {
    plot.marks.push_back({means(c, 0), means(c, 1)});
  }
  return plot;
}

HeatMap DivergenceOfSources(const ClusterPicture& picture) {
  HeatMap map;
  map.title = "How far each source is from each group's order";
  map.columns = GroupHeadings(picture);
  for (const uint32_t source : ShownSources(picture)) {
    HeatMap::Row row;
    row.name = absl::StrCat("source ", source);
    row.colour = Colour(picture.grouping.clustering.cluster[source]);
    for (size_t c = 0; c < map.columns.size(); ++c) {
      row.shares.push_back(ShareOfReversed(picture.grouping, source, c));
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

std::string DescribeHeatMap(const ClusterPicture& picture) {
  const size_t all = picture.grouping.clustering.cluster.size();
  std::string drawn;
  if (all > kMostSources) {
    drawn = absl::StrCat("; ", kMostSources, " of ", all, " sources");
  }
  absl::StrAppend(&drawn, DescribeGroupsShown(picture));
  return absl::StrCat("0 %: as the group (the own without it); 100 %: reversed",
                      DescribeChance(picture.report), "\n",
                      drawn.empty() ? "" : drawn.substr(2));
}

BumpChart OrdersOfGroups(const ClusterPicture& picture) {
  BumpChart chart;
  chart.title = "Joint order of each group (number: rank)";
  chart.columns = GroupHeadings(picture);
  std::vector<std::vector<uint32_t>> ranks;
  for (size_t c = 0; c < chart.columns.size(); ++c) {
    ranks.push_back(RanksOf(picture.grouping.clustering.orders[c]));
  }
  for (const uint32_t candidate : ShownCandidates(ranks)) {
    BumpChart::Item item;
    item.name = Shorten(picture.data.item_ids[candidate], kMostIdCharacters);
    for (const auto& of_group : ranks) {
      item.ranks.push_back(of_group[candidate]);
    }
    chart.items.push_back(std::move(item));
  }
  return chart;
}

std::string DescribeOrders(const ClusterPicture& picture) {
  const size_t all = picture.data.item_ids.size();
  std::string note = "Rank 0 is the best";
  if (all > kMostCandidates) {
    absl::StrAppend(&note, "; ", kMostCandidates, " of ", all,
                    " candidates, those highest in any group");
  }
  return absl::StrCat(note, DescribeGroupsShown(picture));
}

}  // namespace sortition
