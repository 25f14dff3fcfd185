// Base64 as kubeconfig files hold it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace loadline::kube {

// The standard alphabet with its padding; line breaks and blanks are skipped. nullopt: no base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace loadline::kube
