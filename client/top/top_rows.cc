#include "client/top/top_rows.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sortition {
namespace {

using status::v1::Model;
using status::v1::Traffic;
using status::v1::Version;
using status::v1::Worth;

// The rows of one model.
class ModelRows {
 public:
  explicit ModelRows(std::string name) : model_(std::move(name)) {}

  const std::string& model() const { return model_; }

  PolicyRow& Row(const std::string& version) {
    for (PolicyRow& row : rows_) {
      if (row.version == version) return row;
    }
    return rows_.emplace_back(PolicyRow{.model = model_, .version = version});
  }

  void Take(const Model& model) {
    PolicyRow& serving = Row(absl::StrCat(model.version()));
    serving.serves = true;
    serving.uses = "serves";
    for (const Version& version : model.versions()) {
      if (version.uses().empty()) continue;
      Row(absl::StrCat(version.version())).uses =
          absl::StrJoin(version.uses(), ", ");
    }
    for (const Traffic& traffic : model.traffic()) {
      Row(absl::StrCat(traffic.version())).per_second =
          traffic.decisions_per_second();
    }
  }

  std::vector<PolicyRow> Sorted() {
    const auto key = [](const PolicyRow& row) {
      uint64_t number = 0;
      const bool is_number = absl::SimpleAtoi(row.version, &number);
      return std::make_tuple(!row.serves, !is_number, UINT64_MAX - number);
    };
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](const PolicyRow& a, const PolicyRow& b) {
                       return key(a) < key(b);
                     });
    return std::move(rows_);
  }

 private:
  std::string model_;
  std::vector<PolicyRow> rows_;
};

ModelRows& RowsOf(const std::string& model, std::vector<ModelRows>* all) {
  for (ModelRows& rows : *all) {
    if (rows.model() == model) return rows;
  }
  return all->emplace_back(model);
}

}  // namespace

std::vector<PolicyRow> PolicyRows(const status::v1::Server* server,
                                  const status::v1::Sidecar* sidecar) {
  std::vector<ModelRows> all;
  if (server != nullptr) {
    for (const Model& model : server->models()) {
      RowsOf(model.name(), &all).Take(model);
    }
  }
  const size_t num_served = all.size();
  if (sidecar != nullptr) {
    for (const Worth& worth : sidecar->worths()) {
      PolicyRow& row = RowsOf(worth.model(), &all).Row(worth.version());
      if (worth.tuples() > 0) row.reward = worth.reward();
    }
  }
  std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(num_served),
                   all.end(), [](const ModelRows& a, const ModelRows& b) {
                     return a.model() < b.model();
                   });
  std::vector<PolicyRow> rows;
  for (ModelRows& model : all) {
    for (PolicyRow& row : model.Sorted()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace sortition
