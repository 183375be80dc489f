#include "trainer/cluster/cluster_picture.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "process/drawing/svg.h"
#include "process/drawing/xml_text.h"
#include "trainer/cluster/cluster_panels.h"

namespace sortition {
namespace {

constexpr double kWidth = 1120;
constexpr double kHeight = 672;
constexpr Panel kLeft = {80, 100, 440, 400};
constexpr Panel kRight = {640, 126, 420, 400};
constexpr size_t kMostLegend = 8;

std::string Title(const ClusterPicture& picture) {
  const config::v1::ClusterReport& report = picture.report;
  return absl::StrFormat("%d %s of '%s' in %d groups", report.vectors(),
                         report.of(), Shorten(report.model(), 40),
                         report.groups_size());
}

std::string Subtitle(const config::v1::ClusterReport& report) {
  std::string text = absl::StrFormat("%d decisions", report.decisions());
  if (report.kept_fraction() < 1) {
    absl::StrAppendFormat(&text, " (a sample of %.3g %%)",
                          100 * report.kept_fraction());
  }
  for (const auto& trial : report.trials()) {
    if (!trial.chosen()) continue;
    if (trial.has_silhouette()) {
      absl::StrAppendFormat(&text, "; mean silhouette %.2f, by chance %.2f",
                            trial.silhouette(), trial.silhouette_by_chance());
    }
    if (trial.has_share()) {
      absl::StrAppendFormat(
          &text, "; %.0f %% of the divergence that one group would have",
          100 * trial.share());
    }
  }
  return text;
}

// Draws the legend in two columns below the left panel.
void DrawLegend(const ClusterPicture& picture, Svg* svg) {
  const auto& sizes = picture.grouping.clustering.sizes;
  for (size_t c = 0; c < std::min(kMostLegend, sizes.size()); ++c) {
    const size_t row = c / 2;
    const Point at = {kLeft.x + 6 + 220 * static_cast<double>(c % 2),
                      564 + 18 * static_cast<double>(row)};
    svg->Circle({at.x, at.y - 4}, 5, {.fill = Colour(c)});
    svg->Text(
        {at.x + 10, at.y},
        absl::StrFormat("group %d: %d %s", c, sizes[c], picture.report.of()),
        {});
  }
  svg->Diamond({kLeft.x + 6, 640}, 6,
               {.fill = kPaper, .stroke = "#000000", .width = 1.5});
  svg->Text({kLeft.x + 16, 644}, "mean, whose order stands for the group",
            {.size = kSmallSize});
}

// Says which parts are not drawn.
std::string Notes(const ClusterPicture& picture, size_t points) {
  std::vector<std::string> notes;
  const size_t vectors = picture.data.vectors.rows();
  if (points < vectors) {
    notes.push_back(
        absl::StrCat(points, " of ", vectors, " ", picture.report.of()));
  }
  const size_t groups = picture.grouping.clustering.sizes.size();
  if (groups > kMostLegend) {
    notes.push_back(absl::StrCat(kMostLegend, " of ", groups, " groups named"));
  }
  std::string text;
  for (const std::string& note : notes) {
    absl::StrAppend(&text, text.empty() ? "Drawn: " : ", ", note);
  }
  return text;
}

}  // namespace

std::string DrawClusters(const ClusterPicture& picture) {
  Svg svg(kWidth, kHeight);
  svg.Text({kLeft.x, 36}, Title(picture), {.size = 20, .bold = true});
  svg.Text({kLeft.x, 58}, Subtitle(picture.report), {.size = 13});
  const ScatterPlot scatter = ScatterOfVectors(picture);
  DrawScatterPlot(scatter, kLeft, &svg);
  DrawLegend(picture, &svg);
  if (const std::string notes = Notes(picture, scatter.dots.size());
      !notes.empty()) {
    svg.Text({kLeft.x, 662}, notes, {.size = kSmallSize});
  }
  std::string note;
  if (picture.of == ClusterOf::kSources) {
    DrawHeatMap(DivergenceOfSources(picture), kRight, &svg);
    note = DescribeHeatMap(picture);
  } else {
    DrawBumpChart(OrdersOfGroups(picture), kRight, &svg);
    note = DescribeOrders(picture);
  }
  double y = 644;
  for (const absl::string_view line : absl::StrSplit(note, '\n')) {
    svg.Text({kRight.x - 60, y}, line, {.size = kSmallSize});
    y += 18;
  }
  return std::move(svg).Finish();
}

}  // namespace sortition
