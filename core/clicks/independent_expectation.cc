#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/clicks/expected_counts.h"

namespace sortition {
namespace {

// One cell: the weight of what was clicked and of what was not.
struct Cell {
  double clicked;
  double skipped;
};

double WeightedLog(double weight, double probability) {
  return weight > 0 ? weight * std::log(probability) : 0;
}

class Independent : public ClickExpectation {
 public:
  Independent(ClickModelKind kind, const ClickCells* cells,
              const WeightedSessions& sessions)
      : kind_(kind), cells_(*cells), weights_(cells->WeightsOf(sessions)) {}

  void Compute(const ClickUnknowns& unknowns,
               ExpectedCounts* counts) const override {
    counts->attracted.Clear(cells_.num_items());
    counts->ranks.Clear(cells_.num_ranks());
    counts->log_likelihood = 0;
    if (kind_ == ClickModelKind::kTrustBias) {
      counts->offsets.Clear(cells_.num_ranks());
      ForEachCell([&](size_t item, size_t rank, const Cell& cell) {
        AddTrustBias(unknowns, item, rank, cell, counts);
      });
    } else {
      ForEachCell([&](size_t item, size_t rank, const Cell& cell) {
        AddPositionBased(unknowns, item, rank, cell, counts);
      });
    }
  }

 private:
  template <typename Function>
  void ForEachCell(const Function& function) const {
    for (size_t item = 0; item < cells_.num_items(); ++item) {
      for (size_t c = cells_.begin(item); c < cells_.begin(item + 1); ++c) {
        const Cell cell = {weights_.clicked[c],
                           weights_.shown[c] - weights_.clicked[c]};
        if (weights_.shown[c] > 0) function(item, cells_.rank(c), cell);
      }
    }
  }

  // A click has an examined and attracting item. Without one, given θ and a,
  // P(attracts) = a (1 - θ) / (1 - θ a), P(examined) = θ (1 - a) / (1 - θ a).
  static void AddPositionBased(const ClickUnknowns& unknowns, size_t item,
                               size_t rank, const Cell& cell,
                               ExpectedCounts* counts) {
    const double attraction = unknowns.attractions[item];
    const double examination = unknowns.ranks[rank];
    const double click = examination * attraction;
    const double skip = 1 - click;
    const double per_skip = skip > 0 ? cell.skipped / skip : 0;
    const double skips_attracted = per_skip * attraction * (1 - examination);
    const double skips_examined = per_skip * examination * (1 - attraction);
    counts->attracted.hits[item] += cell.clicked + skips_attracted;
    counts->attracted.misses[item] += cell.skipped - skips_attracted;
    counts->ranks.hits[rank] += cell.clicked + skips_examined;
    counts->ranks.misses[rank] += cell.skipped - skips_examined;
    counts->log_likelihood +=
        WeightedLog(cell.clicked, click) + WeightedLog(cell.skipped, skip);
  }

  // A click is a mixture: with probability a the item attracts and is clicked
  // with p = α + β, else with q = β.
  static void AddTrustBias(const ClickUnknowns& unknowns, size_t item,
                           size_t rank, const Cell& cell,
                           ExpectedCounts* counts) {
    const double attraction = unknowns.attractions[item];
    const double p = unknowns.ranks[rank];
    const double q = unknowns.offsets[rank];
    const double click = attraction * p + (1 - attraction) * q;
    const double skip = 1 - click;
    const double clicks_attracted =
        click > 0 ? cell.clicked * attraction * p / click : 0;
    const double skips_attracted =
        skip > 0 ? cell.skipped * attraction * (1 - p) / skip : 0;
    counts->attracted.hits[item] += clicks_attracted + skips_attracted;
    counts->attracted.misses[item] +=
        cell.clicked - clicks_attracted + cell.skipped - skips_attracted;
    counts->ranks.hits[rank] += clicks_attracted;
    counts->ranks.misses[rank] += skips_attracted;
    counts->offsets.hits[rank] += cell.clicked - clicks_attracted;
    counts->offsets.misses[rank] += cell.skipped - skips_attracted;
    counts->log_likelihood +=
        WeightedLog(cell.clicked, click) + WeightedLog(cell.skipped, skip);
  }

  const ClickModelKind kind_;
  const ClickCells& cells_;
  const ClickCells::Weights weights_;
};

}  // namespace

ClickCells::ClickCells(const ClickSessions& sessions)
    : num_ranks_(sessions.num_ranks()) {
  const size_t num_items = sessions.num_items();
  CHECK(sessions.num_impressions() < std::numeric_limits<uint32_t>::max());
  // Impressions sorted by item, then cells by the rank where an item was met.
  std::vector<uint32_t> ends(num_items + 1, 0);
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    for (size_t r = 0; r < session.size(); ++r) ++ends[session.item(r) + 1];
  }
  for (size_t i = 0; i < num_items; ++i) ends[i + 1] += ends[i];
  struct Impression {
    uint32_t place;
    uint16_t rank;
  };
  std::vector<Impression> by_item(ends[num_items]);
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    for (size_t r = 0; r < session.size(); ++r) {
      by_item[ends[session.item(r)]++] = {
          static_cast<uint32_t>(sessions.first_impression(s) + r),
          static_cast<uint16_t>(r)};
    }
  }
  // ends[i] is now where the impressions of item i end.
  cell_of_impression_.resize(sessions.num_impressions());
  std::vector<uint32_t> cell_of_rank(num_ranks_);
  std::vector<uint32_t> last_item(num_ranks_, ClickSessions::kMostItems);
  begins_.push_back(0);
  size_t place = 0;
  for (uint32_t item = 0; item < num_items; ++item) {
    for (; place < ends[item]; ++place) {
      const Impression& impression = by_item[place];
      if (last_item[impression.rank] != item) {
        last_item[impression.rank] = item;
        cell_of_rank[impression.rank] = static_cast<uint32_t>(ranks_.size());
        ranks_.push_back(impression.rank);
      }
      cell_of_impression_[impression.place] = cell_of_rank[impression.rank];
    }
    begins_.push_back(ranks_.size());
  }
}

ClickCells::Weights ClickCells::WeightsOf(
    const WeightedSessions& sessions) const {
  Weights weights;
  weights.shown.assign(size(), 0);
  weights.clicked.assign(size(), 0);
  for (size_t s = 0; s < sessions.sessions->size(); ++s) {
    const ClickSession session = (*sessions.sessions)[s];
    const double weight = sessions.weight(s);
    if (!(weight > 0)) continue;
    const size_t first = sessions.sessions->first_impression(s);
    for (size_t r = 0; r < session.size(); ++r) {
      const uint32_t cell = cell_of_impression_[first + r];
      weights.shown[cell] += weight;
      if (session.clicked(r)) weights.clicked[cell] += weight;
    }
  }
  return weights;
}

std::unique_ptr<ClickExpectation> IndependentExpectation(
    ClickModelKind kind, const ClickCells* cells,
    const WeightedSessions& sessions) {
  return std::make_unique<Independent>(kind, cells, sessions);
}

}  // namespace sortition
