#pragma once
// A rollout in words.
#include <string>

#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"
#include "trainer/rollout/rollout_rules.h"

namespace sortition {

// "1 %", "100 %".
std::string ShareText(double share);

// Says in one sentence what the verdict is and by which numbers. `rollout` is
// as it was before; `asks_servers`: errors and times were to be compared.
std::string VerdictSentence(const model::v1::Rollout& rollout,
                            const RolloutVerdict& verdict,
                            const config::v1::RolloutStep& numbers,
                            const config::v1::RolloutLedger& ledger,
                            bool asks_servers);

// What the command prints.
std::string FormatRolloutReport(const config::v1::RolloutReport& report);

}  // namespace sortition
