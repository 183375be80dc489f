#include "trainer/cluster/cluster_picture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/aggregation/principal_axes.h"
#include "trainer/cluster/cluster_panels.h"
#include "trainer/cluster/svg.h"

namespace sortition {
namespace {

using Index = Eigen::Index;

constexpr double kWidth = 1120;
constexpr double kHeight = 672;
constexpr Panel kLeft = {80, 100, 440, 400};
constexpr Panel kRight = {640, 126, 420, 400};
constexpr Index kMostPoints = 3000;
constexpr Index kMostLabels = 40;
constexpr size_t kMostLegend = 8;
constexpr double kNoteSize = 11;

// A straight map of [low, high] to pixels.
struct Axis {
  double low;
  double high;
  double begin;
  double end;

  double operator()(double value) const {
    return begin + (value - low) / (high - low) * (end - begin);
  }
};

// With room at both ends; never empty.
Axis MakeAxis(double low, double high, double begin, double end) {
  const double room = high > low ? 0.06 * (high - low) : 1;
  return {low - room, high + room, begin, end};
}

Eigen::MatrixXd ProjectAll(const PrincipalAxes& axes,
                           const ScoreMatrix& vectors) {
  return axes.Project(vectors, SpreadOut(vectors.rows(), vectors.rows()));
}

class Scatter {
 public:
  Scatter(const ClusterPicture& picture, Svg* svg)
      : picture_(picture),
        svg_(svg),
        axes_(FindPrincipalAxes(picture.data.vectors)),
        drawn_(SpreadOut(picture.data.vectors.rows(), kMostPoints)),
        points_(axes_.Project(picture.data.vectors, drawn_)),
        means_(ProjectAll(axes_, picture.grouping.clustering.means)) {
    const auto low = [&](Index a) {
      return std::min(points_.col(a).minCoeff(), means_.col(a).minCoeff());
    };
    const auto high = [&](Index a) {
      return std::max(points_.col(a).maxCoeff(), means_.col(a).maxCoeff());
    };
    x_ = MakeAxis(low(0), high(0), kLeft.x, kLeft.x + kLeft.width);
    y_ = MakeAxis(low(1), high(1), kLeft.y + kLeft.height, kLeft.y);
  }

  void Draw() {
    DrawFrame();
    DrawPoints();
    for (Index c = 0; c < means_.rows(); ++c) {
      svg_->Diamond({x_(means_(c, 0)), y_(means_(c, 1))}, 8,
                    {.fill = Colour(c), .stroke = "#000000", .width = 1.5});
    }
    DrawLabels();
  }

  size_t drawn() const { return drawn_.size(); }

 private:
  void DrawFrame() {
    svg_->Text({kLeft.x, kLeft.y - 12}, "Where they lie",
               {.size = 14, .bold = true});
    svg_->Rectangle({kLeft.x, kLeft.y}, kLeft.width, kLeft.height,
                    {.stroke = "#888888"});
    const double bottom = kLeft.y + kLeft.height;
    for (const double tick : Ticks(x_.low, x_.high)) {
      svg_->Line({x_(tick), bottom}, {x_(tick), bottom + 5},
                 {.stroke = "#888888"});
      svg_->Text({x_(tick), bottom + 18}, absl::StrFormat("%g", tick),
                 {.size = 11, .anchor = Svg::Anchor::kMiddle});
    }
    for (const double tick : Ticks(y_.low, y_.high)) {
      svg_->Line({kLeft.x - 5, y_(tick)}, {kLeft.x, y_(tick)},
                 {.stroke = "#888888"});
      svg_->Text({kLeft.x - 8, y_(tick) + 4}, absl::StrFormat("%g", tick),
                 {.size = 11, .anchor = Svg::Anchor::kEnd});
    }
    svg_->Text({kLeft.x + kLeft.width / 2, bottom + 38}, AxisName("First", 0),
               {.anchor = Svg::Anchor::kMiddle});
    svg_->Text({kLeft.x - 52, kLeft.y + kLeft.height / 2},
               AxisName("Second", 1),
               {.anchor = Svg::Anchor::kMiddle, .upwards = true});
  }

  std::string AxisName(absl::string_view which, size_t axis) const {
    return absl::StrFormat("%s principal component (%.0f %% of the variance%s)",
                           which, 100 * axes_.shares[axis],
                           axes_.of_sample ? " of a sample" : "");
  }

  Point At(Index i) const { return {x_(points_(i, 0)), y_(points_(i, 1))}; }

  uint32_t GroupOf(Index i) const {
    return picture_.grouping.clustering.cluster[drawn_[i]];
  }

  void DrawPoints() const {
    const Index n = points_.rows();
    const double radius = n <= 50 ? 6 : n <= 500 ? 3.5 : 2;
    for (Index i = 0; i < n; ++i) {
      svg_->Circle(At(i), radius,
                   {.fill = Colour(GroupOf(i)), .opacity = n <= 50 ? 1 : 0.6});
    }
  }

  // Where a label meets neither a point nor another label, round about.
  void DrawLabels() const {
    if (picture_.of != ClusterOf::kSources || points_.rows() > kMostLabels) {
      return;
    }
    std::vector<Point> taken;
    for (Index i = 0; i < points_.rows(); ++i) taken.push_back(At(i));
    for (Index i = 0; i < points_.rows(); ++i) {
      Point place = At(i);
      for (int step = 0; step < 48; ++step) {
        const double angle = 0.25 * M_PI * (step % 8) - 0.25 * M_PI;
        const int ring = step / 8;
        const double away = 14 + 10 * ring;
        place = {At(i).x + away * std::cos(angle),
                 At(i).y + away * std::sin(angle)};
        if (std::none_of(taken.begin(), taken.end(), [&](const Point& other) {
              return std::abs(other.x - place.x) < 15 &&
                     std::abs(other.y - place.y) < 11;
            })) {
          break;
        }
      }
      taken.push_back(place);
      svg_->Text({place.x, place.y + 4}, absl::StrCat(drawn_[i]),
                 {.size = 11,
                  .anchor = Svg::Anchor::kMiddle,
                  .fill = Colour(GroupOf(i))});
    }
  }

  const ClusterPicture& picture_;
  Svg* const svg_;
  const PrincipalAxes axes_;
  const std::vector<Index> drawn_;
  const Eigen::MatrixXd points_;
  const Eigen::MatrixXd means_;
  Axis x_;
  Axis y_;
};

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

// Two columns below the left panel.
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
               {.fill = "#ffffff", .stroke = "#000000", .width = 1.5});
  svg->Text({kLeft.x + 16, 644}, "mean, whose order stands for the group",
            {.size = kNoteSize});
}

// What is not drawn, in words.
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
  Scatter scatter(picture, &svg);
  scatter.Draw();
  DrawLegend(picture, &svg);
  if (const std::string notes = Notes(picture, scatter.drawn());
      !notes.empty()) {
    svg.Text({kLeft.x, 662}, notes, {.size = kNoteSize});
  }
  const std::string note = picture.of == ClusterOf::kSources
                               ? DrawHeatMap(picture, kRight, &svg)
                               : DrawOrders(picture, kRight, &svg);
  double y = 644;
  for (const absl::string_view line : absl::StrSplit(note, '\n')) {
    svg.Text({kRight.x - 60, y}, line, {.size = kNoteSize});
    y += 18;
  }
  return std::move(svg).Finish();
}

}  // namespace sortition
