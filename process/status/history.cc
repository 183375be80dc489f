#include "process/status/history.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

constexpr auto kUnknownFloat = std::numeric_limits<float>::quiet_NaN();

// The JSON of protos has words for what is no number.
std::string NumberJson(float value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return absl::StrFormat("%.4g", value);
}

void WriteId(const SeriesId& id, JsonWriter* json) {
  json->Key("name").String(id.name);
  json->Key("labels").BeginObject();
  for (const auto& [name, value] : id.labels) json->Key(name).String(value);
  json->EndObject();
  json->Key("unit").String(id.unit);
}

}  // namespace

bool History::IsDue(int64_t steady_us) const {
  if (is_empty()) return true;
  const size_t last = (next_ + steady_us_.size() - 1) % steady_us_.size();
  return steady_us >= steady_us_[last] + kIntervalUs;
}

void History::Clear(Values* values) const {
  if (!std::isnan(values->value[next_])) --values->num_known;
  values->value[next_] = kUnknownFloat;
  for (std::vector<float>* bound : {&values->lower, &values->upper}) {
    if (!bound->empty()) (*bound)[next_] = kUnknownFloat;
  }
}

void History::Set(const SeriesValue& value, Values* values) const {
  if (std::isnan(value.value)) return;
  ++values->num_known;
  values->value[next_] = static_cast<float>(value.value);
  if (std::isnan(value.lower) || std::isnan(value.upper)) return;
  values->lower.resize(num_samples_, kUnknownFloat);
  values->upper.resize(num_samples_, kUnknownFloat);
  values->lower[next_] = static_cast<float>(value.lower);
  values->upper[next_] = static_cast<float>(value.upper);
}

void History::Add(int64_t steady_us, int64_t now_us,
                  const HistorySample& sample) {
  if (steady_us_.size() < num_samples_) steady_us_.push_back(steady_us);
  steady_us_[next_] = steady_us;
  newest_us_ = now_us;
  for (auto& [id, values] : series_) {
    Clear(&values);
    const auto found = sample.find(id);
    if (found != sample.end()) Set(found->second, &values);
  }
  std::erase_if(
      series_, [](const auto& series) { return series.second.num_known == 0; });
  for (const auto& [id, value] : sample) {
    if (series_.size() >= max_series_) break;
    if (std::isnan(value.value) || series_.contains(id)) continue;
    Values& values = series_[id];
    values.value.assign(num_samples_, kUnknownFloat);
    Set(value, &values);
  }
  next_ = (next_ + 1) % num_samples_;
}

std::vector<size_t> History::Places() const {
  // Until the ring is full, the first place has the oldest sample.
  const size_t size = steady_us_.size();
  const size_t first = size < num_samples_ ? 0 : next_;
  constexpr int64_t kLengthUs = kSamples * kIntervalUs;
  std::vector<size_t> places;
  for (size_t i = 0; i < size; ++i) {
    const size_t place = (first + i) % size;
    const size_t newest = (first + size - 1) % size;
    if (steady_us_[newest] - steady_us_[place] <= kLengthUs) {
      places.push_back(place);
    }
  }
  return places;
}

std::string History::InOrder(const std::vector<float>& values) const {
  std::string text = "[";
  for (const size_t place : Places()) {
    absl::StrAppend(&text, text.size() == 1 ? "" : ",",
                    NumberJson(values[place]));
  }
  return text + "]";
}

std::string History::Json() const {
  JsonWriter json;
  json.BeginObject().Key("times_us").BeginArray();
  const std::vector<size_t> places = Places();
  for (const size_t place : places) {
    const int64_t age_us = steady_us_[places.back()] - steady_us_[place];
    json.String(absl::StrCat(newest_us_ - age_us));
  }
  json.EndArray().Key("series").BeginArray();
  for (const auto& [id, values] : series_) {
    json.BeginObject();
    WriteId(id, &json);
    json.Key("values").Raw(InOrder(values.value));
    const bool has_bounds = !values.lower.empty();
    json.Key("lower").Raw(has_bounds ? InOrder(values.lower) : "[]");
    json.Key("upper").Raw(has_bounds ? InOrder(values.upper) : "[]");
    json.EndObject();
  }
  return json.EndArray().EndObject().text();
}

}  // namespace sortition
