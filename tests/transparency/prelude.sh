# What scripts of cases have at hand. They wait without a bound of their own: the test has one.
set -u
# A squeue that fails, since slurmctld is busy, knows nothing of the job's end.
ended() { until left=$(squeue -h -j "$1" 2>/dev/null) && [ -z "$left" ]; do sleep 0.05; done; }
pending() { until [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = PENDING ]; do sleep 0.05; done; }
next_second() { local now=$EPOCHSECONDS; while [ "$EPOCHSECONDS" = "$now" ]; do sleep 0.05; done; }
says() { until grep -qs -e "$1" *; do sleep 0.05; done; }
fate() { scontrol show job -o "$1" | grep -oE ' (JobState|ExitCode|Restarts|Reason|DerivedExitCode|NumTasks|NumNodes)=[^ ]*'; }
batch() { sbatch --parsable "$@"; }
# listen WORD SIGNAL: a program without children, so that none of them hears the signal, too. It hears it once: srun
# passes on what slurmstepd has sent already.
mkdir -p ~/bin && PATH=$HOME/bin:$PATH
cat >~/bin/listen.$$ <<'END'
#!/usr/bin/python3
import os, signal, sys
def heard(number, frame):
    signal.signal(number, signal.SIG_IGN)
    print(sys.argv[1], signal.Signals(number).name, flush=True)
    os._exit(3)
signal.signal(getattr(signal, "SIG" + sys.argv[2]), heard)
print("ready", flush=True)
while True:
    signal.pause()
END
chmod +x ~/bin/listen.$$ && mv ~/bin/listen.$$ ~/bin/listen
mkdir "$1" && cd "$1"
