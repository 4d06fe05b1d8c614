# Written by rocm-doctor fix --format dockerfile; put it behind a FROM line.
ARG DEBIAN_FRONTEND=noninteractive

# on the host, not in the image: let amdgpu load again: /etc/modprobe.d/gpu.conf

# on the host, not in the image: rebuild the initramfs

# on the host, not in the image: load amdgpu
