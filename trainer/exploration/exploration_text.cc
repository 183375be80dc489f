#include "trainer/exploration/exploration_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

using config::v1::ExplorationTable;

std::string CostText(const ExplorationTable::Row& row) {
  if (!row.has_cost()) return "?";
  return absl::StrFormat("%.4f ± %.4f", row.cost().value(),
                         row.cost().upper() - row.cost().value());
}

std::string DecisionsText(const ExplorationTable::Row& row) {
  if (row.never_tells()) return "never";
  return row.has_decisions() ? absl::StrCat(row.decisions()) : "?";
}

// Pads on the left by characters, of which ± has two bytes.
std::string Right(const std::string& text, size_t width) {
  const size_t length =
      text.size() - (text.find("±") == std::string::npos ? 0 : 1);
  return std::string(width - std::min(width, length), ' ') + text;
}

void AppendRow(const ExplorationTable::Row& row, size_t width,
               std::string* text) {
  absl::StrAppendFormat(
      text, "%c %-*s %9.4f %18s %s %11.1f %8.2f %% %8.2f %% %11s\n",
      row.undominated() ? '*' : ' ', static_cast<int>(width), row.exploration(),
      row.reward().value(),
      absl::StrFormat("[%.4f, %.4f]", row.reward().lower(),
                      row.reward().upper()),
      Right(CostText(row), 17), row.effective_sample_size(),
      100 * row.first_differs(), 100 * row.order_differs(), DecisionsText(row));
}

std::string CostSentence(const ExplorationTable& table) {
  if (!table.has_cost_reference()) {
    return "cost: unknown, since the log supports neither the order by score "
           "nor the present policy.\n";
  }
  // A version that does not explore has no other row for the order by score.
  const bool is_second_choice =
      table.cost_reference() == "present" &&
      std::any_of(table.rows().begin(), table.rows().end(),
                  [](const ExplorationTable::Row& row) {
                    return row.exploration() == "order by score";
                  });
  return absl::StrFormat(
      "cost: reward below that of the %s%s; self-normalised, paired by "
      "decision, ± %g %% by unit. ?: the log cannot support the row.\n",
      table.cost_reference() == "present" ? "present policy"
                                          : table.cost_reference(),
      is_second_choice ? ", because the log cannot support the order by score"
                       : "",
      100 * table.confidence());
}

std::string DecisionsSentence(const ExplorationTable& table) {
  if (table.has_problem()) {
    return absl::StrCat(
        "decisions: unknown, since the present policy is compared with ",
        table.target(), ": ", table.problem(), "\n");
  }
  return absl::StrFormat(
      "decisions: so many logged under this exploration tell a difference of "
      "%.4g between the present policy and %s (confidence %g %%, power %g %%). "
      "never: it does too little of what they do differently. ?: too few "
      "tuples say.\n",
      table.delta(), table.target(), 100 * table.confidence(),
      100 * table.power());
}

}  // namespace

std::string FormatExplorations(const ExplorationTable& table) {
  size_t width = 11;
  for (const auto& row : table.rows()) {
    width = std::max(width, row.exploration().size());
  }
  std::string text = absl::StrFormat(
      "\nExplorations of the same scores, on %d test tuples:\n"
      "  %-*s %9s %18s %17s %11s %10s %10s %11s\n",
      table.test_tuples(), static_cast<int>(width), "exploration", "reward",
      absl::StrFormat("%g %% interval", 100 * table.confidence()), "cost",
      "eff. sample", "1st moved", "any moved", "decisions");
  for (const auto& row : table.rows()) AppendRow(row, width, &text);
  absl::StrAppend(
      &text,
      "Choose among the rows with a '*', by the largest cost that you accept: "
      "no other row both costs less and needs fewer decisions.\n",
      CostSentence(table),
      "1st moved, any moved: expected share of decisions whose first rank, or "
      "any rank that counts, is not as in the order by score.\n",
      DecisionsSentence(table));
  return text;
}

}  // namespace sortition
