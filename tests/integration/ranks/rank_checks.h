#pragma once
// How programs learn from a log of RankUsers, and what they must say of it.
#include <cstdint>
#include <string>
#include <vector>

#include "sortition/config/v1/ope_report.pb.h"
#include "tests/integration/ranks/rank_users.h"

namespace sortition {

// Runs a program by name, with its arguments; it must end with exit code 0.
// Returns its standard output.
std::string RunWell(std::vector<std::string> arguments);

// Answers that are learned from, and later ones by the version that did.
inline constexpr uint64_t kFirstAnswers = 5000;
inline constexpr uint64_t kLaterAnswers = 2000;

// Publishes version 1, which orders at random.
void PublishFirstVersion(const std::string& models);

// Waits for `count` tuples.
void WaitForTuples(const std::string& tuples, size_t count);

// Learns from all tuples. The gate must publish version 2.
void TrainSecondVersion(const std::string& tuples, const std::string& models);

// Every session has one tuple, which says what its users were told and what
// they reported, and nothing else is there, late or not. `log verify`
// recomputes all of them bit for bit, and `log validate` passes every check,
// without a warning.
void ExpectLogOf(const RankUsers& users, const std::string& tuples,
                 const std::string& models);

// Users of version 2 earned more by clicks than those of version 1, by five
// standard errors of the difference of their means: chance alone does so once
// in three million times. Each server has answered by both.
void ExpectMoreClicks(const RankUsers& users, size_t num_servers);

// Judges version 2 by the decisions of version 1, and expects the section on
// ranks: counts and the mean of the log as the sessions of version 1 have them,
// all estimators, and estimates of what version 2 then earned, within five
// standard errors.
void ExpectRankEstimates(const RankUsers& users, const std::string& tuples,
                         const std::string& models);

}  // namespace sortition
