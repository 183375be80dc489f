#include "bench/papers/aggregation_figures.h"

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/chart.h"
#include "core/aggregation/cluster.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/metrics/pair_metrics.h"

namespace sortition {
namespace {

std::string Head(const std::string& path, int columns, int rows) {
  return absl::StrFormat(
      "set terminal svg size %d,%d dynamic background 'white'\n"
      "set output '%s'\nset xtics 0.5\nset ytics 0.5\nset ztics 0.5\nset "
      "multiplot layout "
      "%d,%d\nunset key\n",
      360 * columns, 340 * rows, path, rows, columns);
}

using Field = std::function<double(const std::vector<double>&)>;

// Returns the height of each point of a grid over [low, 1]^2.
std::string Grid(double low, const Field& field) {
  constexpr int kSteps = 40;
  std::string lines;
  for (int i = 0; i <= kSteps; ++i) {
    for (int j = 0; j <= kSteps; ++j) {
      const double x = low + (1 - low) * i / kSteps;
      const double y = low + (1 - low) * j / kSteps;
      absl::StrAppendFormat(&lines, "%g %g %g\n", x, y, field({x, y}));
    }
    lines += "\n";
  }
  return lines + "e\n";
}

// Returns random points of [0, 1]^n, one per row.
ScoreMatrix RandomPoints(int points, int n) {
  RandomSequence random(SeedKey(static_cast<uint64_t>(n)));
  ScoreMatrix matrix(points, n);
  for (double& score : matrix.reshaped()) score = random.Uniform();
  return matrix;
}

std::vector<double> RowOf(const ScoreMatrix& matrix, Eigen::Index row) {
  const auto values = matrix.row(row);
  return {values.begin(), values.end()};
}

std::string Cloud(const ScoreMatrix& points,
                  const std::function<double(Eigen::Index)>& colour) {
  std::string lines;
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    for (Eigen::Index j = 0; j < points.cols(); ++j) {
      absl::StrAppendFormat(&lines, "%g ", points(i, j));
    }
    absl::StrAppendFormat(&lines, "%g\n", colour(i));
  }
  return lines + "e\n";
}

Order Identity(size_t n) {
  Order order(n);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Draws d(x‖σ) for |S| |V∖S|, and Kendall's tau of σ_x, from σ = 1, 2, ..
absl::Status DrawFigure1(const std::string& path) {
  std::string script = Head(path, 3, 2);
  const std::array<std::pair<const char*, Field>, 2> fields = {
      {{"d(x||s)",
        [](const std::vector<double>& x) {
          return CardinalityFunction::AllPairs(x.size())->Divergence(
              x, Identity(x.size()));
        }},
       {"Kendall tau", [](const std::vector<double>& x) {
          return static_cast<double>(
              KendallDistance(OrderOf(x), Identity(x.size())));
        }}}};
  const ScoreMatrix points = RandomPoints(1500, 3);
  for (const auto& [title, of_point] : fields) {
    const auto& field = of_point;  // Lambdas cannot capture a binding.
    absl::StrAppend(&script, "set view 60,30\nunset ztics\nset title '", title,
                    ", two items'\nset pm3d\nsplot '-' with pm3d\n",
                    Grid(0, field), "unset pm3d\nset ztics 0.5\n");
    for (const char* view : {"60,30", "60,120"}) {  // Tilt and turn.
      absl::StrAppend(
          &script, "set view ", view, "\nset title '", title,
          ", three items'\nsplot '-' with points pt 7 ps 0.4 lc palette\n",
          Cloud(points,
                [&](Eigen::Index i) { return field(RowOf(points, i)); }));
    }
  }
  return RunGnuplot(script, path);
}

// Draws level sets of the extended divergence from y, which depends on the
// order and the signs of y.
absl::Status DrawFigure2(const std::string& path) {
  std::string script = Head(path, 2, 1);
  script +=
      "set view map\nset contour base\nunset surface\nset cntrparam "
      "levels 12\n";
  const auto f = CardinalityFunction::Create({1, std::sqrt(2) - 1}).value();
  const std::array<std::pair<const char*, SignedOrder>, 2> targets = {
      {{"y = (1, 2)", {{1, 0}, {1, 1}}}, {"y = (2, 1)", {{0, 1}, {1, 1}}}}};
  for (const auto& [title, target] : targets) {
    const SignedOrder& order = target;
    absl::StrAppend(&script, "set title 'Extended divergence from ", title,
                    "'\nsplot '-' with lines\n",
                    Grid(-1, [&](const std::vector<double>& x) {
                      return ExtendedDivergence(*f, x, order).value();
                    }));
  }
  return RunGnuplot(script, path);
}

std::unique_ptr<CardinalityFunction> SquareRoot(size_t n) {
  std::vector<double> increments(n);
  for (size_t r = 0; r < n; ++r) {
    const auto size = static_cast<double>(r);
    increments[r] = std::sqrt(size + 1) - std::sqrt(size);
  }
  return CardinalityFunction::Create(increments).value();
}

// Draws clusters of random points for f(S) = √|S|.
absl::Status DrawFigure3(const std::string& path) {
  struct Panel {
    const char* title;
    int items;
    std::unique_ptr<CardinalityFunction> f;
    double euclidean;
    uint32_t clusters;
  };
  std::vector<Panel> panels;
  panels.push_back({"(a) Lovasz-Bregman, 2 items", 2, SquareRoot(2), 0, 2});
  panels.push_back({"(b) with Euclidean term", 2, SquareRoot(2), 0.5, 4});
  panels.push_back({"(c) Lovasz-Bregman, 3 items", 3, SquareRoot(3), 0, 6});
  panels.push_back(
      {"(d) top 1, 3 items", 3, CardinalityFunction::Top(3, 1), 0, 3});
  std::string script = Head(path, 4, 1);
  for (const Panel& panel : panels) {
    const ScoreMatrix points = RandomPoints(1500, panel.items);
    ClusterOptions options;
    options.clusters = panel.clusters;
    options.euclidean = panel.euclidean;
    ASSIGN_OR_RETURN(const Clustering clustering,
                     Cluster(points, *panel.f, options, nullptr));
    absl::StrAppend(&script, "set title '", panel.title, "'\n",
                    panel.items == 2 ? "plot" : "splot",
                    " '-' with points pt 7 ps 0.4 lc variable\n",
                    Cloud(points, [&](Eigen::Index i) {
                      return 1.0 + clustering.cluster[static_cast<size_t>(i)];
                    }));
  }
  return RunGnuplot(script, path);
}

}  // namespace

absl::Status DrawAggregationFigures(const std::string& directory) {
  RETURN_IF_ERROR(DrawFigure1(absl::StrCat(directory, "/figure1.svg")));
  RETURN_IF_ERROR(DrawFigure2(absl::StrCat(directory, "/figure2.svg")));
  return DrawFigure3(absl::StrCat(directory, "/figure3.svg"));
}

}  // namespace sortition
