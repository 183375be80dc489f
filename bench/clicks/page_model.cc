#include "bench/clicks/page_model.h"

#include <span>

#include "bench/clicks/page_sessions.h"
#include "core/base/status_macros.h"
#include "core/clicks/click_fitter.h"

namespace sortition {
namespace {

constexpr uint32_t kSessions = 5000;
constexpr uint32_t kIterations = 50;
constexpr double kL2 = 1;

}  // namespace

absl::StatusOr<PageModel> FitPageModel(const PagePolicy& log,
                                       const ClickUser& user, uint64_t seed) {
  std::vector<uint32_t> first_items;
  std::vector<float> rows;
  uint32_t num_items = 0;
  for (const LabelledItems& page : log.pages()) {
    first_items.push_back(num_items);
    num_items += static_cast<uint32_t>(page.relevances.size());
    const std::span<const float> values = page.items.values();
    rows.insert(rows.end(), values.begin(), values.end());
  }
  ASSIGN_OR_RETURN(ClickSessions sessions, ClickSessions::Create(num_items));
  SessionSource source(&log, &user, seed);
  PageSession session;
  std::vector<uint32_t> items(kPageRanks);
  for (uint32_t i = 0; i < kSessions; ++i) {
    source.Next(i, &session);
    for (size_t k = 0; k < kPageRanks; ++k) {
      items[k] = first_items[session.page] +
                 static_cast<uint32_t>(session.draw.action[k]);
    }
    RETURN_IF_ERROR(sessions.Add(items, session.clicks));
  }
  ClickFitOptions options;
  options.max_iterations = kIterations;
  options.l2 = kL2;
  const ClickFeatures features = {
      .rows = rows, .num_features = log.pages()[0].items.num_features()};
  ASSIGN_OR_RETURN(const ClickFitter fitter,
                   ClickFitter::Create(&sessions, options, features));
  ASSIGN_OR_RETURN(const FittedClicks fitted, fitter.Fit());
  PageModel model;
  for (size_t k = 0; k < kPageRanks; ++k) {
    model.examination.push_back(fitted.model.Examination(k));
  }
  for (size_t p = 0; p < log.size(); ++p) {
    const auto begin = fitted.attractions.begin() + first_items[p];
    model.attractions.emplace_back(
        begin, begin + static_cast<ptrdiff_t>(log.num_candidates(p)));
  }
  return model;
}

}  // namespace sortition
