#include "base/file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace loadline {
namespace {

Error file_error(const std::string& what, const std::string& path, int number) {
  if (number == EISDIR) {
    return Error(Code::kBadRequest,
                 fmt::format("cannot {} {}: it is a folder; name a file in it", what, path));
  }
  const Code code = number == ENOENT                      ? Code::kNotFound
                    : number == EACCES || number == EPERM ? Code::kForbidden
                                                          : Code::kInternal;
  return Error(
      code, fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(number)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return file_error("read", path, errno);
  std::string bytes;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error("read", path, errno);
    if (n == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(n));
    if (bytes.size() > most_bytes) {
      return Error(Code::kTooLarge,
                   fmt::format("cannot read {}: it is larger than {} bytes", path, most_bytes));
    }
  }
}

Status write_file(const std::string& path, const std::string& bytes, bool secret) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  // One left over by a crash may have another mode: never reuse it.
  ::unlink(temporary.c_str());
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, secret ? 0600 : 0644));
    if (file.get() < 0) return file_error("write", temporary, errno);
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int number = errno;
        ::unlink(temporary.c_str());
        return file_error("write", temporary, number);
      }
      done += static_cast<std::size_t>(n);
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(temporary.c_str());
    return file_error("replace", path, number);
  }
  return {};
}

}  // namespace loadline
