#pragma once
// Early return of a failed absl::Status or absl::StatusOr.
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RETURN_IF_ERROR(expression)                           \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#define SORTITION_CONCAT_INNER(a, b) a##b
#define SORTITION_CONCAT(a, b) SORTITION_CONCAT_INNER(a, b)

// ASSIGN_OR_RETURN(auto value, MakeValue());
#define ASSIGN_OR_RETURN(declaration, expression)                              \
  SORTITION_ASSIGN_OR_RETURN(SORTITION_CONCAT(result_, __LINE__), declaration, \
                             expression)
#define SORTITION_ASSIGN_OR_RETURN(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) return result.status();                         \
  declaration = *std::move(result)
