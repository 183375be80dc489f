#include "client/import/import_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

std::string TimeText(int64_t time_us) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromUnixMicros(time_us),
                          absl::UTCTimeZone());
}

std::string SpreadText(const Spread& spread) {
  return absl::StrFormat("%.6g to %.6g, mean %.6g", spread.minimum,
                         spread.maximum, spread.mean());
}

// Appends lines that have a title in their first column.
class Lines {
 public:
  void Add(absl::string_view title, absl::string_view text) {
    absl::StrAppendFormat(&text_, "%-10s %s\n", title, text);
  }
  void Add(absl::string_view title, const Tally& tally) {
    for (const auto& [kind, entry] : tally.entries()) {
      Add(title,
          absl::StrCat(entry.count, " ", kind, " (first: ", entry.first, ")"));
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void Write(absl::string_view key, const Spread& spread, JsonWriter* json) {
  json->Key(key).BeginObject();
  json->Key("min").Number(spread.minimum);
  json->Key("max").Number(spread.maximum);
  json->Key("mean").Number(spread.mean());
  json->EndObject();
}

void Write(absl::string_view key, const Tally& tally, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const auto& [kind, entry] : tally.entries()) {
    json->BeginObject();
    json->Key("what").String(kind).Key("count").Count(entry.count);
    json->Key("first").String(entry.first).EndObject();
  }
  json->EndArray();
}

// Sentences about what looks wrong: figures, then findings of the input.
std::vector<std::string> Warnings(const ImportReport& report) {
  std::vector<std::string> warnings = report.statistics.Warnings();
  for (const auto& [kind, entry] : report.doubtful.entries()) {
    warnings.push_back(
        absl::StrCat(entry.count, " ", kind, " (first: ", entry.first, ")"));
  }
  return warnings;
}

}  // namespace

void Tally::Add(absl::string_view kind, const InputPlace& place,
                uint64_t count) {
  auto entry = entries_.find(kind);
  if (entry == entries_.end()) {
    entry = entries_.emplace(std::string(kind), Entry()).first;
    entry->second.first = absl::StrCat(place.file, ":", place.line);
  }
  entry->second.count += count;
}

std::string ImportReportText(const ImportReport& report) {
  const ImportStatistics& figures = report.statistics;
  Lines lines;
  for (const ImportReport::File& file : report.files) {
    lines.Add("read",
              absl::StrFormat("%s: %d lines, %.1f MB", file.name, file.lines,
                              static_cast<double>(file.bytes) / 1e6));
  }
  if (report.bad > 0) {
    lines.Add("left out", absl::StrCat(report.bad, " bad decisions (first: ",
                                       report.first_bad, ")"));
  }
  lines.Add("left out", report.left_out);
  lines.Add("assumed", report.assumed);
  lines.Add("not used", report.ignored);
  if (figures.models().size() == 1) {
    const auto& [model, version] = figures.models().begin()->first;
    lines.Add("model", absl::StrCat(model, "/", version));
  } else {
    lines.Add("models",
              absl::StrCat(figures.models().size(), " models and versions"));
  }
  if (figures.first_time_us() != 0) {
    lines.Add("times", absl::StrCat(TimeText(figures.first_time_us()), " to ",
                                    TimeText(figures.last_time_us())));
  }
  if (figures.without_time() > 0) {
    lines.Add("times",
              absl::StrCat(figures.without_time(), " decisions have no time"));
  }
  const double n = static_cast<double>(figures.tuples());
  lines.Add("rewards",
            absl::StrFormat("%s; %.2f %% of the decisions have feedback",
                            SpreadText(figures.rewards()),
                            100 * static_cast<double>(figures.with_feedback()) /
                                std::max(n, 1.0)));
  lines.Add("weights",
            absl::StrCat("1 / propensity: ", SpreadText(figures.weights())));
  lines.Add("choices",
            absl::StrCat("eligible candidates of a decision: ",
                         SpreadText(figures.candidates()), "; ",
                         figures.abstained(), " decisions abstained"));
  lines.Add("features",
            absl::StrCat(figures.distinct_features(),
                         " different ones; with a value, for each candidate: ",
                         SpreadText(figures.features())));
  for (const std::string& warning : Warnings(report)) {
    lines.Add("WARNING", warning);
  }
  return lines.text();
}

std::string ImportReportJson(const ImportReport& report) {
  const ImportStatistics& figures = report.statistics;
  JsonWriter json;
  json.BeginObject();
  json.Key("tuples").Count(figures.tuples());
  json.Key("files").BeginArray();
  for (const ImportReport::File& file : report.files) {
    json.BeginObject().Key("name").String(file.name);
    json.Key("lines").Count(file.lines).Key("bytes").Count(file.bytes);
    json.EndObject();
  }
  json.EndArray();
  json.Key("bad").Count(report.bad).Key("first_bad").String(report.first_bad);
  Write("left_out", report.left_out, &json);
  Write("assumed", report.assumed, &json);
  Write("not_used", report.ignored, &json);
  json.Key("models").BeginArray();
  for (const auto& [model, count] : figures.models()) {
    json.BeginObject().Key("model").String(model.first);
    json.Key("version").Count(model.second).Key("decisions").Count(count);
    json.EndObject();
  }
  json.EndArray();
  json.Key("first_time_us").Signed(figures.first_time_us());
  json.Key("last_time_us").Signed(figures.last_time_us());
  json.Key("without_time").Count(figures.without_time());
  json.Key("without_unit").Count(figures.without_unit());
  json.Key("with_feedback").Count(figures.with_feedback());
  json.Key("abstained").Count(figures.abstained());
  json.Key("overridden").Count(figures.overridden());
  Write("reward", figures.rewards(), &json);
  Write("weight", figures.weights(), &json);
  Write("candidates", figures.candidates(), &json);
  json.Key("distinct_features").Count(figures.distinct_features());
  Write("features_with_value", figures.features(), &json);
  json.Key("warnings").BeginArray();
  for (const std::string& warning : Warnings(report)) json.String(warning);
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace sortition
