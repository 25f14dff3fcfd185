#include "kube/bearer_token.h"

#include "base/file.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace loadline::kube {
namespace {

constexpr std::chrono::seconds kMostAge{10};
constexpr std::size_t kMostTokenBytes = 64u << 10;

}  // namespace

bool is_token(const std::string& text) {
  return !text.empty() && text.size() <= kMostTokenBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

Result<std::string> read_token_file(const std::string& path) {
  auto text = read_file(path, kMostTokenBytes + 2);
  if (!text) return std::move(text).error();
  const std::size_t begin = text->find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return Error(Code::kBadRequest, path + " is empty, not a token");
  std::string token = text->substr(begin, text->find_last_not_of(" \t\r\n") + 1 - begin);
  if (!is_token(token)) {
    return Error(Code::kBadRequest,
                 path + " holds no token: it has blanks or bytes that are not ASCII");
  }
  return token;
}

BearerToken::BearerToken(const Clock& clock, std::string token, std::string file)
    : clock_(clock), token_(file.empty() ? std::move(token) : ""), file_(std::move(file)) {}

Status BearerToken::reload() {
  read_at_ = clock_.steady_now();
  auto token = read_token_file(file_);
  if (!token) return std::move(token).error();
  token_ = std::move(*token);
  return {};
}

Result<std::string> BearerToken::get() {
  if (file_.empty()) return token_;
  if (!read_at_ || clock_.steady_now() - *read_at_ >= kMostAge || token_.empty()) {
    auto status = reload();
    if (!status && token_.empty()) return std::move(status).error();
  }
  return token_;
}

bool BearerToken::replaced(const std::string& refused) {
  if (file_.empty()) return false;
  return reload() && token_ != refused;
}

}  // namespace loadline::kube
