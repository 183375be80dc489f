// A version that looked on.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {
namespace {

class ShadowPolicy : public JudgedPolicy {
 public:
  ShadowPolicy(std::string name, std::string description, uint64_t version)
      : JudgedPolicy(std::move(name), std::move(description)),
        version_(version) {}

  bool Knows(const LoggedDecision& decision) const override {
    return Find(decision) != nullptr;
  }

  std::string UnknownText() const override {
    return "a shadow did not look on at it";
  }

  bool CanCutOrders() const override { return false; }

  absl::Status View(const LoggedDecision& decision, bool,
                    PolicyView* view) override {
    // It said this of the action alone.
    view->first.clear();
    view->abstain = 0;
    view->log_probability = Find(decision)->log_propensity();
    return absl::OkStatus();
  }

 private:
  // Returns its view; null: it did not look on.
  const log::v1::ShadowView* Find(const LoggedDecision& decision) const {
    if (decision.views == nullptr) return nullptr;
    for (const log::v1::ShadowView& view : *decision.views) {
      if (view.version() == version_ &&
          view.model() == decision.decision->model()) {
        return &view;
      }
    }
    return nullptr;
  }

  const uint64_t version_;
};

}  // namespace

std::unique_ptr<JudgedPolicy> MakeShadowPolicy(std::string name,
                                               uint64_t version) {
  std::string description = absl::StrCat("what version ", version,
                                         " said in the log while it looked on");
  return std::make_unique<ShadowPolicy>(std::move(name), std::move(description),
                                        version);
}

}  // namespace sortition
