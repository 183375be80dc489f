#include "trainer/cluster/cluster_panels.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/cluster/cluster_report.h"

namespace sortition {
namespace {

using Index = Eigen::Index;

constexpr size_t kMostSources = 25;
constexpr size_t kMostGroups = 8;
constexpr size_t kMostWideGroups = 5;  // Of more, "group" is left out.
constexpr size_t kMostCandidates = 15;
constexpr size_t kMostIdCharacters = 14;

size_t ShownGroups(const ClusterPicture& picture) {
  return std::min(kMostGroups, picture.grouping.clustering.sizes.size());
}

void DrawHeader(const ClusterPicture& picture, size_t group, double x, double y,
                Svg* svg) {
  const bool narrow = ShownGroups(picture) > kMostWideGroups;
  svg->Text(
      {x, y - 18}, absl::StrCat(narrow ? "" : "group ", group),
      {.anchor = Svg::Anchor::kMiddle, .fill = Colour(group), .bold = true});
  svg->Text({x, y - 4},
            absl::StrCat("(", picture.grouping.clustering.sizes[group], ")"),
            {.size = narrow ? 9.0 : 11.0, .anchor = Svg::Anchor::kMiddle});
}

// The first sources by group and number.
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

void DrawCell(const ClusterPicture& picture, uint32_t source, size_t group,
              const Panel& cell, Svg* svg) {
  const Grouping& grouping = picture.grouping;
  const double reversed = grouping.reversed(source);
  const bool own = grouping.clustering.cluster[source] == group;
  const bool known =
      reversed > 0 && !(own && grouping.clustering.sizes[group] < 2);
  const double divergence =
      own ? grouping.without(source)
          : grouping.divergences(source, static_cast<Index>(group));
  const double share = known ? divergence / reversed : 0;
  svg->Rectangle({cell.x, cell.y}, cell.width, cell.height,
                 {.fill = Shade(share), .stroke = "#ffffff"});
  svg->Text({cell.x + cell.width / 2, cell.y + cell.height / 2 + 4},
            known ? absl::StrFormat("%.0f %%", 100 * share) : "-",
            {.size = 11,
             .anchor = Svg::Anchor::kMiddle,
             .fill = share > 0.45 ? "#ffffff" : "#222222"});
}

// Candidates by best rank in any shown group.
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

// A bump chart.
class Orders {
 public:
  Orders(const ClusterPicture& picture, const Panel& panel, Svg* svg)
      : picture_(picture), panel_(panel), svg_(svg) {
    for (size_t c = 0; c < ShownGroups(picture); ++c) {
      ranks_.push_back(RanksOf(picture.grouping.clustering.orders[c]));
    }
    candidates_ = ShownCandidates(ranks_);
    for (const auto& ranks : ranks_) places_.push_back(Places(ranks));
  }

  void Draw() const {
    svg_->Text({panel_.x - 60, panel_.y - 38},
               "Joint order of each group (number: rank)",
               {.size = 14, .bold = true});
    for (size_t c = 0; c < ranks_.size(); ++c) {
      DrawHeader(picture_, c, X(c), panel_.y + 4, svg_);
    }
    for (size_t i = 0; i < candidates_.size(); ++i) DrawLine(i);
    for (size_t i = 0; i < candidates_.size(); ++i) DrawNodes(i);
  }

  size_t num_candidates() const { return candidates_.size(); }

 private:
  // Among the candidates shown.
  std::vector<size_t> Places(const std::vector<uint32_t>& ranks) const {
    std::vector<size_t> places;
    for (const uint32_t item : candidates_) {
      places.push_back(std::count_if(
          candidates_.begin(), candidates_.end(),
          [&](uint32_t other) { return ranks[other] < ranks[item]; }));
    }
    return places;
  }

  double X(size_t group) const {
    if (ranks_.size() == 1) return panel_.x + panel_.width / 2;
    return panel_.x + 50 +
           (panel_.width - 130) * static_cast<double>(group) /
               static_cast<double>(ranks_.size() - 1);
  }
  double Y(size_t group, size_t i) const {
    return panel_.y + 24 + 26 * static_cast<double>(places_[group][i]);
  }

  // The darker the better in the first group.
  std::string LineColour(size_t i) const {
    const double t = static_cast<double>(places_[0][i]) /
                     static_cast<double>(kMostCandidates - 1);
    const auto mix = [t](double from, double to) {
      return static_cast<int>(from + t * (to - from));
    };
    return absl::StrFormat("#%02x%02x%02x", mix(8, 150), mix(48, 190),
                           mix(107, 225));
  }

  void DrawLine(size_t i) const {
    std::vector<Point> points;
    for (size_t c = 0; c < ranks_.size(); ++c) {
      points.push_back({X(c), Y(c, i)});
    }
    svg_->Polyline(points, {.stroke = LineColour(i), .width = 2.5});
  }

  void DrawNodes(size_t i) const {
    const std::string colour = LineColour(i);
    for (size_t c = 0; c < ranks_.size(); ++c) {
      svg_->Circle({X(c), Y(c, i)}, 10,
                   {.fill = "#ffffff", .stroke = colour, .width = 2});
      svg_->Text({X(c), Y(c, i) + 4}, absl::StrCat(ranks_[c][candidates_[i]]),
                 {.size = ranks_[c][candidates_[i]] < 100 ? 11.0 : 8.0,
                  .anchor = Svg::Anchor::kMiddle});
    }
    const std::string id =
        Shorten(picture_.data.item_ids[candidates_[i]], kMostIdCharacters);
    svg_->Text({X(0) - 18, Y(0, i) + 4}, id, {.anchor = Svg::Anchor::kEnd});
    if (ranks_.size() == 1) return;
    const size_t last = ranks_.size() - 1;
    svg_->Text({X(last) + 18, Y(last, i) + 4}, id, {});
  }

  const ClusterPicture& picture_;
  const Panel panel_;
  Svg* const svg_;
  std::vector<std::vector<uint32_t>> ranks_;  // By shown group, by candidate.
  std::vector<uint32_t> candidates_;          // Shown.
  std::vector<std::vector<size_t>> places_;   // By shown group, as candidates_.
};

}  // namespace

std::string DrawHeatMap(const ClusterPicture& picture, const Panel& panel,
                        Svg* svg) {
  svg->Text({panel.x - 60, panel.y - 38},
            "How far each source is from each group's order",
            {.size = 14, .bold = true});
  const std::vector<uint32_t> sources = ShownSources(picture);
  const size_t groups = ShownGroups(picture);
  const double width =
      std::min(90.0, panel.width / static_cast<double>(groups));
  const double height =
      std::min(30.0, panel.height / static_cast<double>(sources.size()));
  for (size_t c = 0; c < groups; ++c) {
    DrawHeader(picture, c, panel.x + width * (static_cast<double>(c) + 0.5),
               panel.y + 4, svg);
  }
  for (size_t r = 0; r < sources.size(); ++r) {
    const double y = panel.y + 8 + height * static_cast<double>(r);
    const uint32_t group = picture.grouping.clustering.cluster[sources[r]];
    svg->Text({panel.x - 8, y + height / 2 + 4},
              absl::StrCat("source ", sources[r]),
              {.size = 11, .anchor = Svg::Anchor::kEnd, .fill = Colour(group)});
    for (size_t c = 0; c < groups; ++c) {
      DrawCell(picture, sources[r], c,
               {panel.x + width * static_cast<double>(c), y, width, height},
               svg);
    }
  }
  const size_t all = picture.grouping.clustering.cluster.size();
  const size_t all_groups = picture.grouping.clustering.sizes.size();
  std::string drawn;
  if (sources.size() < all) {
    drawn = absl::StrCat(sources.size(), " of ", all, " sources");
  }
  if (groups < all_groups) {
    absl::StrAppend(&drawn, drawn.empty() ? "" : "; ", groups, " of ",
                    all_groups, " groups");
  }
  return absl::StrCat("0 %: as the group (the own without it); 100 %: reversed",
                      DescribeChance(picture.report), "\n", drawn);
}

std::string DrawOrders(const ClusterPicture& picture, const Panel& panel,
                       Svg* svg) {
  const Orders orders(picture, panel, svg);
  orders.Draw();
  const size_t groups = ShownGroups(picture);
  const size_t all_groups = picture.grouping.clustering.sizes.size();
  const size_t all = picture.data.item_ids.size();
  std::string note = "Rank 0 is the best";
  if (orders.num_candidates() < all) {
    absl::StrAppend(&note, "; ", orders.num_candidates(), " of ", all,
                    " candidates, those highest in any group");
  }
  if (groups < all_groups) {
    absl::StrAppend(&note, "; ", groups, " of ", all_groups, " groups");
  }
  return note;
}

}  // namespace sortition
