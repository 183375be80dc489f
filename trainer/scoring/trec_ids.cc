#include "trainer/scoring/trec_ids.h"

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"

namespace sortition {

absl::Status CheckTrecId(absl::string_view what, absl::string_view id) {
  if (!id.empty() && id.find_first_of(" \t\r\n\f\v") == id.npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is '", Shown(id),
                   "', must be not empty and without white space, which "
                   "separates the fields of TREC files"));
}

absl::StatusOr<std::vector<std::string>> TrecIdsOf(const StreamedQuery& query) {
  RETURN_IF_ERROR(CheckTrecId("the id of a query", query.id));
  std::vector<std::string> ids = query.candidate_ids;
  if (ids.empty()) {
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      ids.push_back(absl::StrCat(i));
    }
    return ids;
  }
  absl::flat_hash_set<absl::string_view> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    RETURN_IF_ERROR(
        CheckTrecId(absl::StrCat("the id of candidate ", i), ids[i]));
    if (seen.insert(ids[i]).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("two candidates have the id '", Shown(ids[i]),
                     "', must have different ids in TREC files"));
  }
  return ids;
}

}  // namespace sortition
