# SPDX-License-Identifier: Apache-2.0
# trackers.py board FOLDER | mlflow URI EXPERIMENT: what they hold, as text
import glob
import sys


def line(key, points):
    """Points are steps with values, in the order of time."""
    steps = [step for step, _ in points]
    print("%s %d at %d..%d: %g to %g" % (
        key, len(points), min(steps), max(steps), points[0][1], points[-1][1]))


def board(folder):
    from tensorboard.backend.event_processing.event_file_loader import (
        EventFileLoader)
    files = sorted(glob.glob(folder + "/events.out.tfevents.*"))
    print(len(files), "files")
    points, texts = {}, {}
    for path in files:
        events = list(EventFileLoader(path).Load())
        assert events[0].file_version == "brain.Event:2", events[0]
        for event in events:
            for value in event.summary.value:
                data = value.tensor
                if value.metadata.plugin_data.plugin_name == "text":
                    texts[value.tag] = data.string_val[0].decode()
                else:
                    points.setdefault(value.tag, []).append(
                        (event.step, data.float_val[0]))
    for key, row in points.items():
        line(key, row)
    for key, text in texts.items():
        print(f"{key}: {text}")


def mlflow(uri, name):
    from mlflow.tracking import MlflowClient
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(name)
    runs = client.search_runs([experiment.experiment_id],
                              order_by=["attributes.start_time ASC"])
    for run in runs:
        label = run.info.run_name
        params = " ".join(f"{k}={v}" for k, v in sorted(run.data.params.items()))
        print(label if label == "second" else "?", run.info.status, params)
        for key in "train/loss", "big", "odd":
            history = client.get_metric_history(run.info.run_id, key)
            line(key, sorted((m.step, m.value) for m in history))


{"board": board, "mlflow": mlflow}[sys.argv[1]](*sys.argv[2:])
