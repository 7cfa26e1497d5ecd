import json

from lipgnn.export import CARD, EXAMPLE, MODEL, SPEC

RUN = ("train", "--dataset", "planted", "--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 3, "--json", "-q")


def test_a_model_is_exported_and_predicts_from_there(invoke, tmp_path):
    run = json.loads(invoke(*RUN)[1])["run_id"]
    code, out, err = invoke("export", run, "-o", "handed on")
    assert code == 0 and EXAMPLE in out and "lipgnn predict 'handed on/model.safetensors'" in err
    assert {path.name for path in (tmp_path / "handed on").iterdir()} == {MODEL, SPEC, CARD, EXAMPLE}
    again = json.loads(invoke("export", run, "-o", "handed on", "--json")[1])
    assert again["card"] == f"handed on/{CARD}"
    other = json.loads(invoke(*RUN, "--seed", 1)[1])["run_id"]
    code, _, err = invoke("export", other, "-o", "handed on")
    assert code == 2 and "--force" in err
    assert invoke("predict", f"handed on/{MODEL}")[1] == invoke("predict", run)[1]
    assert invoke("export", other, "-o", "handed on", "--force")[0] == 0


def test_without_a_run_nothing_is_written(invoke, tmp_path):
    code, _, err = invoke("export", "3f2a", "-o", "model")
    assert code == 2 and "No run" in err and not (tmp_path / "model").exists()
