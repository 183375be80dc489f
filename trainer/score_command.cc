// Implements `score`.
#include "core/base/status_macros.h"
#include "trainer/scoring/score.h"
#include "trainer/trainer_commands.h"

namespace sortition {

absl::Status RunScore(const config::v1::ScoreOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  ASSIGN_OR_RETURN(const ScoreReport report, Score(options, &output->out));
  output->out.flush();
  output->error << FormatScoreReport(report);
  return absl::OkStatus();
}

}  // namespace sortition
