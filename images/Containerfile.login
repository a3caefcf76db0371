# For people who build with buildah or Docker: buildah build -t localhost/penstock/login:26.05 -f Containerfile.login .
# The same packages and start as login.toml; a test keeps them in step.
ARG BASE=localhost/penstock/worker:26.05
FROM ${BASE}
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        bash-completion make mount nano ncurses-base ncurses-term squashfs-tools systemd-standalone-tmpfiles tmux \
        vim-tiny \
    && rm -rf /var/lib/apt/lists/*
ENV LANG=C.UTF-8
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["/usr/sbin/sshd", "-D", "-e"]
