#include "client/top/top_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/top/top_rows.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;
using status::v1::Estimate;
using status::v1::Method;
using status::v1::Server;
using status::v1::Sidecar;
using status::v1::Spool;
using status::v1::Status;
using status::v1::Warning;

constexpr size_t kMostWarnings = 5;
constexpr size_t kIndent = 4;
// Lines of the verdict of one run: enough for the longest sentence.
constexpr size_t kMaxRunLines = 12;
constexpr int kMaxEarlierLines = 5;  // Lines for each model.

enum class Style { kPlain, kHeading, kBad, kWarn };

// Collects lines, each in one style.
class Lines {
 public:
  Lines(bool colours, size_t columns)
      : colours_(colours), columns_(std::min(columns, kTopColumns)) {}

  void Add(Style style, absl::string_view text) {
    std::string line = Cell(text, columns_);
    absl::StripTrailingAsciiWhitespace(&line);
    if (colours_ && style != Style::kPlain && !line.empty()) {
      line = absl::StrCat(Code(style), line, "\x1b[0m");
    }
    lines_.push_back(std::move(line));
  }

  size_t columns() const { return columns_; }

  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  static absl::string_view Code(Style style) {
    switch (style) {
      case Style::kBad:
        return "\x1b[31m";
      case Style::kWarn:
        return "\x1b[33m";
      case Style::kHeading:
      case Style::kPlain:
        break;
    }
    return "\x1b[1m";
  }

  const bool colours_;
  const size_t columns_;
  std::vector<std::string> lines_;
};

// "3h 7m", "12s".
std::string AgeText(int64_t us) {
  constexpr int64_t kSecondUs = 1000000;
  const int64_t seconds = std::max<int64_t>(us, 0) / kSecondUs;
  if (seconds < 60) return absl::StrCat(seconds, "s");
  const int64_t minutes = seconds / 60;
  if (minutes < 60) return absl::StrCat(minutes, "m");
  const int64_t hours = minutes / 60;
  if (hours < 48) return absl::StrCat(hours, "h ", minutes % 60, "m");
  return absl::StrCat(hours / 24, "d ", hours % 24, "h");
}

std::string SizeText(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB",
                                                 "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat(unit == 0 ? "%.0f %s" : "%.1f %s", value,
                         kUnits[unit]);
}

std::string RewardText(double value) {
  if (!std::isfinite(value)) return "-";
  constexpr double kManyDigits = 100;
  return std::abs(value) < kManyDigits ? absl::StrFormat("%.4f", value)
                                       : absl::StrFormat("%.4g", value);
}

std::string IntervalText(const Estimate& estimate) {
  if (estimate.confidence() <= 0) return "-";
  return absl::StrCat("[", RewardText(estimate.lower()), ", ",
                      RewardText(estimate.upper()), "]");
}

// Milliseconds; "-" if nobody called.
std::string LatencyText(double seconds) {
  if (seconds <= 0 || !std::isfinite(seconds)) return "-";
  constexpr double kMsPerSecond = 1000;
  return absl::StrFormat("%.2fms", seconds * kMsPerSecond);
}

std::string TitleOf(const Status& status, const std::string& address) {
  const auto& process = status.process();
  return absl::StrFormat("%s %s at %s, up %s, %s", process.role(),
                         process.version(), address,
                         AgeText(process.now_us() - process.start_time_us()),
                         SizeText(process.resident_bytes()));
}

void AddPrograms(const TopView& view, Lines* lines) {
  if (view.server_status.has_value()) {
    const Server& server = view.server_status->server();
    lines->Add(Style::kHeading, TitleOf(*view.server_status, view.server));
    if (server.ready()) {
      lines->Add(Style::kPlain, "  ready");
    } else {
      lines->Add(Style::kBad,
                 absl::StrCat("  NOT READY: ", server.why_not_ready()));
    }
  } else if (!view.server.empty()) {
    lines->Add(Style::kBad, absl::StrCat("server: ", view.server_problem));
  }
  if (view.sidecar_status.has_value()) {
    lines->Add(Style::kHeading, TitleOf(*view.sidecar_status, view.sidecar));
  } else if (!view.sidecar.empty()) {
    lines->Add(Style::kBad, absl::StrCat("sidecar: ", view.sidecar_problem));
  }
}

// The sidecar's own answer, or what the server shows of it; null: none.
const Sidecar* SidecarOf(const TopView& view) {
  for (const auto* status : {&view.sidecar_status, &view.server_status}) {
    if (status->has_value() && (*status)->has_sidecar()) {
      return &(*status)->sidecar();
    }
  }
  return nullptr;
}

const Server* ServerOf(const TopView& view) {
  return view.server_status.has_value() && view.server_status->has_server()
             ? &view.server_status->server()
             : nullptr;
}

void AddPolicies(const TopView& view, Lines* lines) {
  const std::vector<PolicyRow> rows =
      PolicyRows(ServerOf(view), SidecarOf(view));
  double confidence = 0;
  for (const PolicyRow& row : rows) {
    if (row.reward.has_value()) {
      confidence = std::max(confidence, row.reward->confidence());
    }
  }
  const std::string interval =
      confidence > 0 ? absl::StrFormat("%g %% interval", 100 * confidence)
                     : "interval";
  constexpr char kRow[] = "%s %-15s %7s %-15s %8s %8s %19s";
  lines->Add(Style::kPlain, "");
  lines->Add(Style::kHeading,
             absl::StrFormat(kRow, " ", "Models", "version", "use", "per s",
                             "reward", interval));
  if (rows.empty()) {
    lines->Add(Style::kPlain, "  none yet: nothing was decided");
  }
  for (const PolicyRow& row : rows) {
    lines->Add(
        Style::kPlain,
        absl::StrFormat(
            kRow, row.serves ? "*" : " ", Cell(row.model, 15),
            row.version == "0" ? "uniform" : Cell(row.version, 7),
            Cell(row.uses, 15),
            row.per_second.has_value()
                ? absl::StrFormat("%.1f", *row.per_second)
                : "-",
            row.reward.has_value() ? Cell(RewardText(row.reward->value()), 8)
                                   : "-",
            row.reward.has_value() ? Cell(IntervalText(*row.reward), 19)
                                   : "-"));
  }
}

void AddCalls(const Server& server, Lines* lines) {
  constexpr char kRow[] = "  %-20s %9s %9s %9s %9s %9s";
  lines->Add(Style::kPlain, "");
  lines->Add(Style::kHeading, absl::StrFormat(kRow, "Calls", "per s", "p50",
                                              "p99", "p99.9", "errors"));
  bool any = false;
  for (const Method& method : server.methods()) {
    uint64_t good = 0;
    uint64_t bad = 0;
    for (const auto& code : method.codes()) {
      (code.name() == "OK" ? good : bad) += code.count();
    }
    if (good + bad == 0) continue;
    any = true;
    lines->Add(
        Style::kPlain,
        absl::StrFormat(kRow, Cell(method.method(), 20),
                        absl::StrFormat("%.1f", method.per_second()),
                        LatencyText(method.p50_seconds()),
                        LatencyText(method.p99_seconds()),
                        LatencyText(method.p999_seconds()), absl::StrCat(bad)));
  }
  if (!any) lines->Add(Style::kPlain, "  none yet");
}

void AddSpool(const Spool& spool, Lines* lines) {
  if (spool.dir().empty()) {
    lines->Add(Style::kWarn, "  spool    none: decisions are not logged");
    return;
  }
  const bool is_sound = spool.state() == "ok" && spool.lost_records() == 0;
  lines->Add(is_sound ? Style::kPlain : Style::kBad,
             absl::StrFormat("  spool    %s, %s of %s, %d records, %d lost, "
                             "%d refused",
                             spool.state(), SizeText(spool.bytes()),
                             SizeText(spool.max_bytes()), spool.records(),
                             spool.lost_records(), spool.refused()));
}

void AddJoin(const Sidecar& sidecar, Lines* lines) {
  lines->Add(Style::kPlain,
             absl::StrFormat("  join     %d tuples, %d pending, %s behind, "
                             "%d spools",
                             sidecar.tuples(), sidecar.pending(),
                             SizeText(sidecar.lag_bytes()), sidecar.spools()));
  uint64_t invalid = 0;
  for (const auto& reason : sidecar.invalid_feedback()) {
    invalid += reason.count();
  }
  lines->Add(invalid == 0 ? Style::kPlain : Style::kWarn,
             absl::StrFormat("  feedback %d late, %d unmatched, %d invalid, %d "
                             "tuples censored",
                             sidecar.late(), sidecar.unmatched(), invalid,
                             sidecar.censored()));
  if (!sidecar.problem().empty()) {
    lines->Add(Style::kBad, absl::StrCat("  join     ", sidecar.problem()));
  }
}

void AddLog(const TopView& view, Lines* lines) {
  lines->Add(Style::kPlain, "");
  lines->Add(Style::kHeading, "  Log");
  if (const Server* server = ServerOf(view)) AddSpool(server->spool(), lines);
  const Sidecar* sidecar = SidecarOf(view);
  if (sidecar != nullptr) return AddJoin(*sidecar, lines);
  const std::string problem = view.server_status.has_value()
                                  ? view.server_status->sidecar_problem()
                                  : "";
  lines->Add(Style::kWarn,
             absl::StrCat("  join     ", problem.empty()
                                             ? "not known: no sidecar is named"
                                             : problem));
}

// Splits a text into lines of at most `width` bytes, at spaces where there are
// some.
std::vector<std::string> Wrapped(absl::string_view text, size_t width) {
  std::vector<std::string> wrapped;
  while (text.size() > width) {
    size_t end = text.rfind(' ', width);
    if (end == absl::string_view::npos || end == 0) end = width;
    wrapped.emplace_back(text.substr(0, end));
    text = absl::StripLeadingAsciiWhitespace(text.substr(end));
  }
  if (!text.empty()) wrapped.emplace_back(text);
  return wrapped;
}

const char* OutcomeText(const TrainingRun& run) {
  switch (run.outcome()) {
    case TrainingRun::DONE:
      return "done";
    case TrainingRun::NOTHING_BETTER:
      return "nothing better";
    case TrainingRun::NOT_YET:
      return "not yet";
    case TrainingRun::FAILED:
      return "FAILED";
    default:
      return "?";
  }
}

// Returns the outcome of the last run of a kind, and how long one has been
// under way.
std::string RunText(const status::v1::Model& model, const TrainingRun& run,
                    int64_t now_us) {
  const std::string name = absl::StrCat(model.name(), " ", run.kind());
  const std::string running_for = AgeText(now_us - run.running_since_us());
  if (run.outcome() == TrainingRun::RUNNING) {
    return absl::StrCat(name, ", running for ", running_for);
  }
  std::string text = absl::StrFormat(
      "%s, %s, %s ago: %s %s", name, OutcomeText(run),
      AgeText(now_us - run.time_us()), run.verdict(), run.next_step());
  if (run.running_since_us() > 0) {
    absl::StrAppend(&text, " The next run has been under way for ", running_for,
                    ".");
  }
  return text;
}

// Returns how much of the gate's error budget the looks have spent.
std::string LooksText(const status::v1::Model& model) {
  return absl::StrFormat(
      "%s: %d %s at the test part of version %d; %.0f %% of the gate's error "
      "budget is left for later looks",
      model.name(), model.looks(), model.looks() == 1 ? "look" : "looks",
      model.version(), 100 * model.error_budget_left());
}

// Adds the whole verdict of the last run of each kind, and a line for each of
// the runs before them.
void AddTrainingOf(const status::v1::Model& model, int64_t now_us,
                   Lines* lines) {
  for (const TrainingRun& run : model.runs()) {
    const std::vector<std::string> wrapped =
        Wrapped(RunText(model, run, now_us), lines->columns() - kIndent);
    for (size_t i = 0; i < std::min(wrapped.size(), kMaxRunLines); ++i) {
      lines->Add(
          run.outcome() == TrainingRun::FAILED ? Style::kBad : Style::kPlain,
          absl::StrCat(i == 0 ? "  " : "    ", wrapped[i]));
    }
  }
  const int earlier = std::min(model.earlier_runs_size(), kMaxEarlierLines);
  for (int i = 0; i < earlier; ++i) {
    lines->Add(Style::kPlain,
               absl::StrCat("  before: ",
                            RunText(model, model.earlier_runs(i), now_us)));
  }
  // An older server does not report the budget.
  if (model.looks() > 0 && model.error_budget_left() > 0) {
    for (const std::string& line :
         Wrapped(LooksText(model), lines->columns() - kIndent)) {
      lines->Add(Style::kPlain, absl::StrCat("  ", line));
    }
  }
}

void AddTraining(const Server& server, int64_t now_us, Lines* lines) {
  lines->Add(Style::kPlain, "");
  lines->Add(Style::kHeading, "  Training, the last runs");
  bool any = false;
  for (const status::v1::Model& model : server.models()) {
    any |= model.runs_size() > 0;
    AddTrainingOf(model, now_us, lines);
  }
  if (!any) lines->Add(Style::kPlain, "  none yet");
}

void AddWarnings(const TopView& view, Lines* lines) {
  std::vector<Warning> warnings;
  for (const auto* status : {&view.server_status, &view.sidecar_status}) {
    if (!status->has_value()) continue;
    warnings.insert(warnings.end(), (*status)->warnings().begin(),
                    (*status)->warnings().end());
  }
  std::stable_sort(warnings.begin(), warnings.end(),
                   [](const Warning& a, const Warning& b) {
                     return a.time_us() > b.time_us();
                   });
  lines->Add(Style::kPlain, "");
  lines->Add(Style::kHeading, "  Warnings, latest first");
  if (warnings.empty()) lines->Add(Style::kPlain, "  none");
  for (size_t i = 0; i < std::min(warnings.size(), kMostWarnings); ++i) {
    const Warning& warning = warnings[i];
    const std::string time = absl::FormatTime(
        "%m-%d %H:%M:%SZ", absl::FromUnixMicros(warning.time_us()),
        absl::UTCTimeZone());
    lines->Add(warning.level() == "error" ? Style::kBad : Style::kWarn,
               absl::StrCat("  ", time, " ", warning.message(), " ",
                            warning.details()));
  }
}

}  // namespace

std::string Cell(absl::string_view text, size_t width) {
  std::string cell;
  for (const char byte : text.substr(0, width + 1)) {
    cell.push_back(absl::ascii_isprint(static_cast<unsigned char>(byte)) ? byte
                                                                         : '?');
  }
  if (cell.size() <= width) return cell;
  cell.resize(width);
  if (width > 0) cell.back() = '~';
  return cell;
}

std::vector<std::string> TopLines(const TopView& view, bool colours,
                                  size_t columns) {
  Lines lines(colours, columns);
  AddPrograms(view, &lines);
  if (view.server_status.has_value() || view.sidecar_status.has_value()) {
    AddPolicies(view, &lines);
    if (const Server* server = ServerOf(view)) AddCalls(*server, &lines);
    AddLog(view, &lines);
    if (const Server* server = ServerOf(view)) {
      AddTraining(*server, view.server_status->process().now_us(), &lines);
    }
    AddWarnings(view, &lines);
  }
  return lines.Take();
}

}  // namespace sortition
