#include "bench/support/chart.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace sortition {
namespace {

// In single quotes gnuplot interprets nothing.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", text, "'");
}

std::string Script(const Chart& chart, const std::string& path) {
  std::string script = absl::StrCat(
      "set terminal svg size 640,400 dynamic background 'white'\n"
      "set output ",
      Quoted(path), "\nset title ", Quoted(chart.title), "\nset xlabel ",
      Quoted(chart.x_label), "\nset ylabel ", Quoted(chart.y_label),
      chart.logarithmic_x ? "\nset logscale x 2" : "", "\nset xtics (",
      absl::StrJoin(chart.x, ", "),
      ")\nset grid\nset key outside right\nplot ");
  for (size_t i = 0; i < chart.series.size(); ++i) {
    absl::StrAppend(&script, i > 0 ? ", " : "", "'-' with linespoints title ",
                    Quoted(chart.series[i].name));
  }
  absl::StrAppend(&script, "\n");
  for (const Series& series : chart.series) {
    for (size_t i = 0; i < chart.x.size(); ++i) {
      absl::StrAppendFormat(&script, "%.9g %.9g\n", chart.x[i], series.y[i]);
    }
    absl::StrAppend(&script, "e\n");
  }
  return script;
}

}  // namespace

absl::Status RunGnuplot(const std::string& script, const std::string& path) {
  const std::filesystem::path directory =
      std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot make the directory ", directory.string(),
                     " of a figure: ", error.message()));
  }
  std::FILE* pipe = popen("gnuplot", "w");
  if (pipe == nullptr) return absl::InternalError("cannot run gnuplot");
  const bool written =
      std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
  if (pclose(pipe) != 0 || !written) {
    return absl::InternalError(
        absl::StrCat("gnuplot could not draw ", path, "; is it installed?"));
  }
  return absl::OkStatus();
}

absl::Status DrawChart(const Chart& chart, const std::string& path) {
  return RunGnuplot(Script(chart, path), path);
}

}  // namespace sortition
