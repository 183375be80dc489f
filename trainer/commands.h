#pragma once
// The command line of sortition-trainer.
#include <string>
#include <vector>

namespace sortition {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitGateSaysNo = 3;

// `arguments` without the program name. Results go to stdout, progress,
// warnings and errors to stderr. Returns the exit status.
int RunTrainer(const std::vector<std::string>& arguments);

}  // namespace sortition
