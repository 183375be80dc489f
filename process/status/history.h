#pragma once
// The last hour as series of numbers, in bounded memory. Pure: whoever adds a
// sample says what time it is, by a clock that is never set (`steady_us`) and
// by that of the machine (`now_us`), which people know.
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace sortition {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Which series, as Series of status.proto.
struct SeriesId {
  std::string name;
  std::map<std::string, std::string> labels = {};
  std::string unit = "1";
  friend auto operator<=>(const SeriesId&, const SeriesId&) = default;
};

// NaN: unknown. Only numbers with an interval have bounds.
struct SeriesValue {
  double value = kUnknown;
  double lower = kUnknown;
  double upper = kUnknown;
};

// What was known at one time.
using HistorySample = std::map<SeriesId, SeriesValue>;

// A ring of samples. Not thread-safe.
class History {
 public:
  static constexpr size_t kSamples = 720;
  static constexpr size_t kMaxSeries = 96;
  static constexpr int64_t kIntervalUs = 5'000'000;  // Between two samples.

  explicit History(size_t num_samples = kSamples,
                   size_t max_series = kMaxSeries)
      : num_samples_(num_samples), max_series_(max_series) {}

  // Whether it is time for a sample: the first one, or the last one is at least
  // so old.
  bool IsDue(int64_t steady_us) const;

  // Adds a sample in place of the oldest one. A series that it lacks is unknown
  // at this time; one that is unknown at all times goes. Where there are
  // `max_series`, new ones are left out. `steady_us` must ascend.
  void Add(int64_t steady_us, int64_t now_us, const HistorySample& sample);

  bool is_empty() const { return steady_us_.empty(); }
  size_t num_series() const { return series_.size(); }

  // Returns the History of status.proto in its JSON form, with four significant
  // digits. Its times follow from that of the newest sample and the time that
  // has passed since the others: they ascend, also where the clock was set.
  // Samples are left out that are older than the hour.
  std::string Json() const;

 private:
  struct Values {
    // By place in the ring; the bounds are empty until one is known.
    std::vector<float> value;
    std::vector<float> lower;
    std::vector<float> upper;
    size_t num_known = 0;  // Of `value`.
  };

  // Forgets what the place `next_` has of the series.
  void Clear(Values* values) const;
  void Set(const SeriesValue& value, Values* values) const;
  // Returns the values in the order of time, as JSON.
  std::string InOrder(const std::vector<float>& values) const;
  // Returns the places in the ring of what is printed, in the order of time.
  std::vector<size_t> Places() const;

  const size_t num_samples_;
  const size_t max_series_;
  std::vector<int64_t> steady_us_;  // By place in the ring.
  int64_t newest_us_ = 0;           // Time of day of the newest sample.
  size_t next_ = 0;                 // The place of the next sample.
  std::map<SeriesId, Values> series_;
};

}  // namespace sortition
